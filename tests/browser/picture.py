"""Draws docs/page.png, README's picture of the page, and keeps in it the words that it shows: `make picture`."""

import argparse
import io
import tempfile
from pathlib import Path

from PIL import Image, PngImagePlugin

from tests.browser.browser import Browser

KEY = "words"


def words(picture: Path) -> str:
    """What stood in the window when the picture was taken; raises KeyError where that was not kept."""
    with Image.open(picture) as image:
        return str(image.info[KEY])


def draw(page: Path, picture: Path) -> None:
    """The first screen of a page, 1400 pixels wide."""
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(Path(profile))
        try:
            browser.width(1400)
            browser.open(page.resolve().as_uri())
            browser.until("document.querySelector('#overview.shown')")
            shown = browser.js("return document.body.innerText")
            pixels = browser.picture()
        finally:
            browser.close()
    kept = PngImagePlugin.PngInfo()
    kept.add_text(KEY, " ".join(shown.split()), zip=True)
    with Image.open(io.BytesIO(pixels)) as image:
        image.quantize(128).save(picture, pnginfo=kept, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path, help="such as results/paper/index.html")
    parser.add_argument("picture", type=Path, help="such as docs/page.png")
    given = parser.parse_args()
    if not given.page.is_file():
        parser.exit(1, f"{given.page} does not exist: run `make` first\n")
    draw(given.page, given.picture)


if __name__ == "__main__":
    main()
