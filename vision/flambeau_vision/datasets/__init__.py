"""Image and video datasets."""

from __future__ import annotations

from .caltech import Caltech101, Caltech256
from .celeba import CelebA
from .cifar import CIFAR10, CIFAR100
from .cityscapes import Cityscapes
from .clevr import CLEVRClassification
from .coco import CocoCaptions, CocoDetection
from .country211 import Country211
from .digits import UCIDigits
from .dtd import DTD
from .eurosat import EuroSAT
from .fakedata import FakeData
from .fer2013 import FER2013
from .fgvc_aircraft import FGVCAircraft
from .flickr import Flickr8k, Flickr30k
from .flowers102 import Flowers102
from .folder import DatasetFolder, ImageFolder
from .food101 import Food101
from .gtsrb import GTSRB
from .imagenet import ImageNet
from .imagenette import Imagenette
from .inaturalist import INaturalist
from .kitti import Kitti
from .lfw import LFWPairs, LFWPeople
from .lsun import LSUN, LSUNClass
from .mnist import EMNIST, KMNIST, MNIST, QMNIST, FashionMNIST
from .moving_mnist import MovingMNIST
from .omniglot import Omniglot
from .optical_flow import HD1K, FlyingChairs, FlyingThings3D, KittiFlow, Sintel
from .oxford_iiit_pet import OxfordIIITPet
from .pcam import PCAM
from .phototour import PhotoTour
from .places365 import Places365
from .rendered_sst2 import RenderedSST2
from .sbd import SBDataset
from .sbu import SBU
from .semeion import SEMEION
from .stanford_cars import StanfordCars
from .stereo_matching import (
    CarlaStereo,
    CREStereo,
    ETH3DStereo,
    FallingThingsStereo,
    InStereo2k,
    Kitti2012Stereo,
    Kitti2015Stereo,
    Middlebury2014Stereo,
    SceneFlowStereo,
    SintelStereo,
)
from .stl10 import STL10
from .sun397 import SUN397
from .svhn import SVHN
from .usps import USPS
from .video_classification import HMDB51, UCF101, Kinetics
from .vision import VisionDataset
from .voc import VOCDetection, VOCSegmentation
from .widerface import WIDERFace
from .wrapping import wrap_dataset_for_transforms_v2

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "DTD",
    "EMNIST",
    "FER2013",
    "GTSRB",
    "HD1K",
    "HMDB51",
    "KMNIST",
    "LSUN",
    "MNIST",
    "PCAM",
    "QMNIST",
    "SBU",
    "SEMEION",
    "STL10",
    "SUN397",
    "SVHN",
    "UCF101",
    "USPS",
    "CLEVRClassification",
    "CREStereo",
    "Caltech101",
    "Caltech256",
    "CarlaStereo",
    "CelebA",
    "Cityscapes",
    "CocoCaptions",
    "CocoDetection",
    "Country211",
    "DatasetFolder",
    "ETH3DStereo",
    "EuroSAT",
    "FGVCAircraft",
    "FakeData",
    "FallingThingsStereo",
    "FashionMNIST",
    "Flickr8k",
    "Flickr30k",
    "Flowers102",
    "FlyingChairs",
    "FlyingThings3D",
    "Food101",
    "INaturalist",
    "ImageFolder",
    "ImageNet",
    "Imagenette",
    "InStereo2k",
    "Kinetics",
    "Kitti",
    "Kitti2012Stereo",
    "Kitti2015Stereo",
    "KittiFlow",
    "LFWPairs",
    "LFWPeople",
    "LSUNClass",
    "Middlebury2014Stereo",
    "MovingMNIST",
    "Omniglot",
    "OxfordIIITPet",
    "PhotoTour",
    "Places365",
    "RenderedSST2",
    "SBDataset",
    "SceneFlowStereo",
    "Sintel",
    "SintelStereo",
    "StanfordCars",
    "UCIDigits",
    "VOCDetection",
    "VOCSegmentation",
    "VisionDataset",
    "WIDERFace",
    "wrap_dataset_for_transforms_v2",
]
