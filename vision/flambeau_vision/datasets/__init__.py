"""Datasets of images."""

from __future__ import annotations

from .caltech import Caltech101, Caltech256
from .celeba import CelebA
from .cifar import CIFAR10, CIFAR100
from .clevr import CLEVRClassification
from .coco import CocoCaptions, CocoDetection
from .country211 import Country211
from .digits import UCIDigits
from .dtd import DTD
from .eurosat import EuroSAT
from .fakedata import FakeData
from .fgvc_aircraft import FGVCAircraft
from .flickr import Flickr8k, Flickr30k
from .flowers102 import Flowers102
from .folder import DatasetFolder, ImageFolder
from .food101 import Food101
from .gtsrb import GTSRB
from .imagenet import ImageNet
from .imagenette import Imagenette
from .lsun import LSUN, LSUNClass
from .mnist import EMNIST, KMNIST, MNIST, QMNIST, FashionMNIST
from .omniglot import Omniglot
from .oxford_iiit_pet import OxfordIIITPet
from .phototour import PhotoTour
from .places365 import Places365
from .rendered_sst2 import RenderedSST2
from .sbu import SBU
from .semeion import SEMEION
from .stanford_cars import StanfordCars
from .stl10 import STL10
from .sun397 import SUN397
from .svhn import SVHN
from .usps import USPS
from .vision import VisionDataset
from .voc import VOCDetection, VOCSegmentation

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "DTD",
    "EMNIST",
    "GTSRB",
    "KMNIST",
    "LSUN",
    "MNIST",
    "QMNIST",
    "SBU",
    "SEMEION",
    "STL10",
    "SUN397",
    "SVHN",
    "USPS",
    "CLEVRClassification",
    "Caltech101",
    "Caltech256",
    "CelebA",
    "CocoCaptions",
    "CocoDetection",
    "Country211",
    "DatasetFolder",
    "EuroSAT",
    "FGVCAircraft",
    "FakeData",
    "FashionMNIST",
    "Flickr8k",
    "Flickr30k",
    "Flowers102",
    "Food101",
    "ImageFolder",
    "ImageNet",
    "Imagenette",
    "LSUNClass",
    "Omniglot",
    "OxfordIIITPet",
    "PhotoTour",
    "Places365",
    "RenderedSST2",
    "StanfordCars",
    "UCIDigits",
    "VOCDetection",
    "VOCSegmentation",
    "VisionDataset",
]
