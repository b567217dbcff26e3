"""Datasets of images."""

from __future__ import annotations

from .caltech import Caltech101, Caltech256
from .celeba import CelebA
from .cifar import CIFAR10, CIFAR100
from .coco import CocoCaptions, CocoDetection
from .digits import UCIDigits
from .dtd import DTD
from .eurosat import EuroSAT
from .fakedata import FakeData
from .flickr import Flickr8k, Flickr30k
from .flowers102 import Flowers102
from .folder import DatasetFolder, ImageFolder
from .food101 import Food101
from .gtsrb import GTSRB
from .imagenet import ImageNet
from .lsun import LSUN, LSUNClass
from .mnist import EMNIST, KMNIST, MNIST, QMNIST, FashionMNIST
from .omniglot import Omniglot
from .oxford_iiit_pet import OxfordIIITPet
from .phototour import PhotoTour
from .places365 import Places365
from .sbu import SBU
from .semeion import SEMEION
from .stanford_cars import StanfordCars
from .stl10 import STL10
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
    "SVHN",
    "USPS",
    "Caltech101",
    "Caltech256",
    "CelebA",
    "CocoCaptions",
    "CocoDetection",
    "DatasetFolder",
    "EuroSAT",
    "FakeData",
    "FashionMNIST",
    "Flickr8k",
    "Flickr30k",
    "Flowers102",
    "Food101",
    "ImageFolder",
    "ImageNet",
    "LSUNClass",
    "Omniglot",
    "OxfordIIITPet",
    "PhotoTour",
    "Places365",
    "StanfordCars",
    "UCIDigits",
    "VOCDetection",
    "VOCSegmentation",
    "VisionDataset",
]
