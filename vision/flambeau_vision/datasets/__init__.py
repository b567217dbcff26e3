from .digits import UCIDigits
