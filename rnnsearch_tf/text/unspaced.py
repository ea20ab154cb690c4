"""Scripts that put no spaces between words, as classes of characters for regular expressions."""

HAN = "[\u2e80-\u2fdf\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
SOUTHEAST_ASIAN = "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]"  # and Tibetan
CHINESE_JAPANESE = f"[\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f{HAN[1:-1]}]"
UNSPACED = f"[{CHINESE_JAPANESE[1:-1]}{SOUTHEAST_ASIAN[1:-1]}]"
