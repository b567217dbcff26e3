"""Load pickles from earlier versions of flambeau that name modules which have moved since."""

from __future__ import annotations

import base64
import importlib
import io
import pickle
import subprocess
import sys
import zlib

import pytest

import flambeau as torch
from flambeau.compat.table import MOVED
from flambeau.engine.devices.aliases import aliased_name

# Compressed data written by an earlier version: `pickle.dumps(..., 4)` and `torch.save` of the dictionaries in the tests.
VALUES = (
    "c-oa!O^+Kj7|wUnUE1BMrCkYV;nrRv6-"
    "vdS(yr7>3mOR3_S(vFW<0UG9?#VFq)Ej}3(}@t$r2Llp18n~f5C6yk09<n@Y<ealh7U*WhNQFub=npd7R_co1eNhe;wIdrk&_%L9Dr!a-"
    "0nbF8gE5OQQOIU0Ksjd5-lLpW8EQItdxG7`%5D-m(;$WuzZ0%F;IYHRGbRC-"
    "%UamSQi#|HE~3w+!H|$Ig6aqej%6g&iG^r+KNZxv|)ziBP#z{fuO}oT4<B83u>0(vl@4@tIYN^oqF{Q!E7G3UREoGj^Y=n38NI?<$YV0;yash(sY0!fDC`"
    "@wj2dnvWJc3z_RY&bjIrEI#B+j4b`+%-"
    "*6m%(l|G#3O?86b+{uV9zXV(cXid(D373c<jLk?qj%r+q18r=BO6xkD5_^W>3u~pmP#ymJ3L1^Lv>PNs@;wcGcWIu-"
    "f;@&*du%VYjNZA!?YW%jUBI#BJQazld;Rqxy+GrMCfrHq2(&kI0vqo2|#ZP+*BOqKR~{R~K*S1=AEMjdj4j3Gn~FE+5&&dF_84!T3cEh^BQ&3T>57q06xx"
    "5%_IBUUWRh9J(zamjp?oO0FF*B^j2C`{_3`Jb{jcnSzOl#FKGm&r|J%6qiz4ZitH=d>f|CguZvzjjs1#yAdj^&A;Efd*&_X0+6zdbt&J)dM!y{eL-"
    "S3${+2(Y4B1^p%6&~QeaT_silXNjf$u6V5avi!RhKYXENP57n)489hePKW{49!h7eKRv^*0A<;)IgN$6xir%{8xG(Fcf%^b7Zx-"
    "7VxsB^+}0(f<7ad4zRm{t-f=gg)9s!G7yTwkv$7yxhU00cV5Lr%U9zCKr1VS^>mG}A@eSzU!k7MDZQWMXWWQ|gWguuMxg)$3~ncp-"
    "5CA_cDv<j9~39D9*&EgV6On2-"
    "EHLVupQc{CLhmi|KDnBLqgn1A)=HV8e<K@arzMY63S1A;}{v|b&4ckTfWDU{vceH2&_7`MOo_uKg^MA`py{@Q|Krr^C@d2gu<Dgag^;f^W3WZD2i=e%@Uc"
    "ksjS{`%*Sx6ql6nr6eCzoXs30A1)jo@U<&f5LU37gCYsRv^H1Ue{116cl`_GtSZbirJ{v;ygbW_7mX!rxo36_1fxHU)Mp@n7QM7Mc^x{bBDw6?)z1DDPXv"
    "vyw=uFrSlArMsTn%6)&KBB$@veSo6W6Eb+{>zzO2fdEBe>xXbrEhxU37rkkg!A~5yy4(!y{l;2*fy!l@gPQ*x41!CMp(wBf(GI46WD9Q7Z!K~3p;>4bouH"
    "3T!FU;k>TL"
)
PROGRAMS = (
    "c-q}qO>7)V6}IE?cs$P94#{qSfMde`*eDq}AR(5Ygxzcit4St{lMsXym3q2sTs`UOZu-ae1O<hkIQCM~9#X3n5?4+LByLEsS!u-yBn}|$1z46vfH-pC#)0"
    "ou_0Rk`K_I~aThm?r>b<I0@4b5OtGZKp^;btG^xti@BBwVZD-=pDbv&!r=2psl-"
    "*elI&UQohuwLM#9#`^k#GTaUY>0Ya(HONPvRvQwH`K12W1$sUJ)ZC=MyIT?cG~F_A4V?LVv}o1E{{y>`;CmH;kiDyA|<OAP2;{={W{5s>aLg}`RW#TH$<Z"
    "3v3!t57zIgS2VUF=UHhg-"
    "D#_VGAq*iNm(_&(aX=p{_*#sUAhI?%3p%XbPoUa;C7&n;+_bzDx;RNcM3<cDc!8CC?4!gqWrwLcw|JuegP(l&<8Pk%(Lav7@xf0_zoG7_b=90`9%vreQFu"
    "=7s69Ccojh(QZs22-"
    "xyzBmVa^v^JE3K*s{}H;;u*9^T2|Vw6)SO6yl+Ju6HDUwx!POdw;z1}BhQ~HhQF(tlXumg78({$#q4b*=3wt*%ny7P!uoEERVTSGSj-dk3f9Tom~~RmV{O"
    "a6xn)HT6G3oOwd8wPCx|p5jJPI3ADTcejrXuEHxZ2FH*&7|f@@Ir{lnCK<UTOMVR>6tKW4TC^EnyM;ZoaC<ran)l9L~2abhK$IWYK`%%Q=~VQt}T=TV}^#"
    "yNs`c#t{QXB}=OX@vM`9*_rvG#MnMZ8>>b$tNGa4=jYurbVHHz*y%OuZ`}6+}+~SuPAY*CC=)Z#dGF$&b-c>*9G%>(Y%`Gb;-"
    "Ogo7Wf2>x$8T#`Qzbvbowz+v$I0hG}L84ie1w>h-"
    "$AJIh%Bti;^woLt8AX|nps`ZE4>o1I?%jA>~aTf^rDhX;}<6FISVVs$0sUH#OcSS#?kkvcstbsAD^jRf?V1#iURD<2~I3m#>Znf!qDtdP9WoYcF0vN?rk1"
    "<&c`REkJMF7kqnlv8*_iE36Li9~7hh}j;pz=y^&E{prUcHp_TVMOk`ss$+B%;&;<8x5UKE68dVHRf5wwU@HcyP>dw?TAxY`Y>)uKEybLN2v?U;XJg1uwT$"
    "p`7^S>RpdPwgVNs$eXrI#QP3;0_OjaxgD6>c_@--f)7P^Sk<(qjGfwm^zn(RVajbY5dDs@C9oi~kKZ!Uep3ZjmF~*lBF0%drt7)kn%BNM2Z&-"
    "F;$>Sq7H+0%<S+x-h`R0;U>{JAfDwFU;o_r@pldqgbS#)0Xhxo;74`rX$6%*xhnvrSY7rpw%=cv3~HT6j@mZg;Wc#~UJ#1YZp@-"
    "gPYw@5WQwvn%AOe@w+Ev6kigTRPW4;+vy*0Ff~W&YF8-di~P_BZdm{@QoWp4qQvmCDv>ZP!h$9T;R{<nNJ#h{ixIyYcHUKR9-"
    "E{=q|QnXJ*2&+8&sij7S)Du!G-8-$75b8lhK$oGyoTX!|$4F|RR%7qt-"
    "G%9OII~J^DV95b5QWws?W9E{zUeH73OnaD7&N@~v<QnPV>!86O*gLk>Cqm7KOL!D)qT<(j*0xpz?HQyrZrK9PnRi^Oz!=fB+8%XIchVT8t(D4YT}PC7O3q"
    "~pIR+reT03>U#3k%d$!K@UOb4~60m*_iB!BC$Exf-XPKjr^_)W1G@!RHv_#J+4<M;bL@y?$3Lrc87C;r$<Ef}w22R@8*YQ%0#V3~-"
    ")fKUqy!ngsx1lf%N4Q(m$H`0)A(|*K4<kKVKrl*lJP+o+0d&oNHGtx^LrEth&!zfc!{x`)=^uM$?IWe(s9SYeRGyXPhLTLZGI+?6O2~=-"
    "yvK?HUXPZXm=Db+#Kg)0lD><?cVi_)1UOGM@QH$x!>@;qn-)Oa4A%T;trsRpQnlgu-jq)~yB3D6?!+$DnH!I?6E%6OF<Xiad+)!c{znAfo|7S&HF$>Dr-"
    "S9PhQ}U_(Lw$_zh>7$IM88syi*TPa?u|ok>wVijiYSz`x}01AvE;1Wbg@GR`<q0#uP7Np$0<PRtb5*+k>{d~loD7zhOAI2K~gURNyTj(iXe$Yfvl}H@?%x"
    "KJUAddwY$eLtkI);0?qEz^mv9It9eiNBu!n*;}Rox8$_wDHS~9P4PX0>^&}pY%-7YvBhF+SARn-m55zT~9<-iWef_eg4q4C4G}xUR@8J_yXde`_rfo`-"
    "a|3|i)Q`eu;#9Fz@oWkZ7Fj;dmdKZ}uK2pdfNT<*KGvA1g5u)ua^aGup9A?kGHkze{8Z;Ffd3N!8f92P;BYChPh3?qOh7=uSjn_;Bq3|zTr_&lrD&%jQ`)"
    "UX1I^pQ^&C{Kff(h+P}JWQXv6ZhcK$_fb%y1$emO&R1Mn4fu<oZl=5cG24ndQ$qES#Q-"
    "BE3;8)*l}IwHCWUg9qROlhd^8;E7Uxg+z^QWHk%uf)s8hwE<PL4C3oWPzi)0qK4yKYU^{6p%|!8;}Lp!~ej_d>beL-pi~zgi!9BrC*LvCijCvcj22I>@E`"
    "(Ru&TnkuPp>z`8c~h=4e&`a#sQJS9Iol4cxi%E)b}`Z}SJb5&cWQO1lH*#8!O0s=uq@<**`T;?E-+=-"
    "2JCoBT8V<AP$(ji4y$RsL*T^Qe_D+wdl{UN#Zt^sis&$`uDVqVrSqVbUHA919-"
    "_bCs}<z0__;u?UO3!LR)X6L1WOQ78n8aAR7P^`xrruab7s%g<((Q(p8EZx)iwfj0W-0i+ek+n2*%`yx{aL!wL#HALkOfI6N0ZI+rl-*ZxhGCkO-"
    "S|JnG0mw*T_g--E#$E4ZXzz_w|FpZ_ZPaTkb?SF1Jv%1LBc+Xb9{6Sxbcgaq;Bp#^j(oWI_hy@`3~Lj$%S>^3pNSoeqNKx&^+Ker0fh!s8^@$w=frF*F{!"
    "(&CJk!w=5QaqHSF1{#oz#mF~}JJO2_7PMb4r{1bvBtGE"
)
SAVED = (
    "c-oy+-EJF26dteb*xgbmDWSB`HVHq?h8D-M3zPzFWg!b`D`Q+$+O~>T<K2m8%VgJQXVyw9S!yp5lsm)~SBQ&V@d!KucRT_@ya%&?$?m!rgprQp8K3Vv-"
    "<fmHWT2NTE2v&aa;=9S=y^G|C3GHP-=fZxY}r`g=Hz?U>o(Bi+<KwR0BJ@|0vYzlgbOHH!jrhBg&E^b7w-"
    "|<^a&4`;HpnXfx~PS6hnqUdw3tp#)AAd#VjBkDiM?8+Kwf6)k9cF$jm@EjH_lsU<%@L&o`%S6>3@>pG!|XCQy$dYL9tXJctifIAfHgPb&&*O#)DLMSQ0tT"
    "{+N82S=9WF-9!mcrI7J^=;x4`)kJ%DxBRMiXpr~WfYn+-}l_{G4Z*Gc$?-"
    "4X^d+e!r~9GG=yd2OeE0{ED`tw&L?@rc{hbm2v;9Wh^4}tn=fIdKZCb4qY;XwGGCv#CYQf*xUd6n)6nIjbh)HaxqnA{9oc<?cVohLrT1m&eI@d~8eNv<xq"
    "|EqSnV6C+`7S@$q1gxOJCDVMnxWpXA=VJ{ooMZ8_~;zuJ-"
    "AguF!SMG{X`I$2Cn=1QRCj;C<=!!3fjU9r!T14h+}uYuxSVN;jmpHj2tlv1>B|oB0IdQ?3rlo;SrKM!ty-"
    "RQO0{a(xCjG(!p7#D<S`6s2Q|(2YZL2exL=!a+>`6pzQmhV6vjmF-FFrs>GseHXLjAZezP=5n7(mF*dHG+K!ZPviD!%PLo+Dp#{rz8Puoc6T`u96m`Pabt"
    "8Oq#QxYS;(jH$PjldD2LDb#@R3nKhkSD_CDN_WjH6#WUmB{93OM+V;ep{3J&1*5WWbS1HD%N@yXSrbY2H@lf01FGO8U<^5~f$UfAEgZaExf<_N(^$aV15-"
    "<MLvJXbxj2D+1b6}DQv?(M>xaGE74?;-T-y->lU=juOcoOuOHi8audc?H|O?ydi=Ktb_J|Asnr=gwvtZC=MpVhwaNucO`Tw$SPGe{r{Hp@yB`uRKm8&1<-"
    "rSOc~48alo14Rp%;&*fju+{4CSFIgICUW1a@BD#L8VM=^1pU_@+<G+gNs9~f(e;Gea`38DPSt*~y%J%pYI$5v6>6-"
    "fwRYYgIdO3&wqm1UKq6p8nWFrT^P(g)3C}Oj1l*j&D#BLX{+4ASHYt;g_UBqU~mdCy-Vmn1_wh)UsthRuPWgh6&@LJ{TQbWJVYWx)K{sor-0r>"
)


def content(text):
    return zlib.decompress(base64.b85decode(text))


def test_plain_pickles_of_values_load():
    values = pickle.loads(content(VALUES))
    assert values["dtype"] is torch.float32 and values["device"] == torch.device("cpu") and values["size"] == torch.Size([2, 3])
    assert values["layout"] is torch.strided and values["format"] is torch.channels_last
    assert values["qscheme"] is torch.per_tensor_affine and values["symbol"] is torch.SymInt
    assert values["tensor"].tolist() == [[0, 1, 2], [3, 4, 5]] and type(values["tensor"]) is torch.Tensor
    assert values["float8"].dtype is torch.float8_e5m2 and values["float8"].float().tolist() == [1, 1]
    assert isinstance(values["parameter"], torch.nn.Parameter) and values["parameter"].note == "kept"
    assert values["largest"].indices.tolist() == [2, 2] and type(values["largest"]) is type(torch.ones(1, 1).max(1))
    assert values["structure"] == torch.utils._pytree.tree_structure({"a": (1, 2)})
    assert isinstance(values["handle"], torch.utils.hooks.RemovableHandle)
    assert values["inv"] == torch.linalg.inv and values["sin"] == torch.sin and values["finfo"].bits == 16
    assert values["sparse"].to_dense().tolist() == [[1, 0], [0, 1]]
    assert [len(row) for row in values["jagged"].unbind()] == [2, 3]


def test_plain_pickles_of_programs_load_in_a_new_process(tmp_path):
    """The subprocess unpickles before it imports any flambeau module."""
    (tmp_path / "programs").write_bytes(content(PROGRAMS))
    code = """
import pickle, sys
programs = pickle.load(open(sys.argv[1], "rb"))
import flambeau as torch
x = torch.ones(1, 2)
assert torch.equal(programs["graph"](x), programs["exported"].module()(x))
assert type(programs["legacy"]) is torch.legacy.nn.Linear and programs["legacy"].forward(x).shape == (1, 2)
assert programs["optimizer"].param_groups[0]["lr"] == 0.5 and programs["cond"] is torch.cond
assert programs["normal"].sample().shape == (2,) and programs["lazy"](x).shape == (1, 3)
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "programs")], check=True)


def test_files_that_name_former_modules_load():
    saved = torch.load(io.BytesIO(content(SAVED)), weights_only=False)
    assert saved["largest"].values.tolist() == [2, 5]
    assert saved["structure"] == torch.utils._pytree.tree_structure({"a": (1, 2)})
    assert isinstance(saved["handle"], torch.utils.hooks.RemovableHandle)
    assert [len(row) for row in saved["jagged"].unbind()] == [2, 3]


@pytest.mark.parametrize("former", MOVED)
def test_former_module_is_the_present_one(former):
    module = importlib.import_module(former)
    assert module is importlib.import_module(MOVED[former])
    assert aliased_name(module.__name__, "flambeau") != former


def test_former_modules_are_no_attributes():
    names = [former.partition(".")[2] for former in MOVED if former.startswith("flambeau.") and former.count(".") == 1]
    code = "import sys, flambeau; print(*(name for name in sys.argv[1:] if hasattr(flambeau, name)))"
    assert not subprocess.run([sys.executable, "-c", code, *names], check=True, capture_output=True, text=True).stdout.split()
