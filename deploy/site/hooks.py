"""Hooks of MkDocs (`mkdocs.yml` names this file)."""

from pathlib import Path
from typing import Any, Final

from markdown import Extension, Markdown
from markdown.blockprocessors import build_block_parser
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import tsproxy
from deploy.site.links import (
    DOCS,
    LANDING,
    LIST,
    in_repository,
    listing,
    loaded_from_elsewhere,
    moved,
    navigation,
    outside_docs,
    place,
    rewritten,
    slug,
    wrapping_at_dots,
)

ROOT: Final = Path(__file__).parents[2]
_CSS: Final = """\
.md-grid { max-width: 76rem; }
.md-typeset table:not([class]) td:first-child { min-width: 11rem; }
.md-typeset td code { word-break: normal; overflow-wrap: normal; }
"""
_MOVED: Final = """\
<!doctype html><meta charset="utf-8"><title>Moved</title><link rel="canonical" href="{0}">
<script>location.replace("{0}" + location.hash)</script><a href="{0}">This page has moved.</a>
"""


class _TwoSpaces(Extension):  # type: ignore[misc]  # the library is not in the project's environment
    """Lists in lists are indented by two spaces, as GitHub reads them. Python-Markdown expects four.

    Python-Markdown's parser reads the width when it is made. So this extension makes another parser, before
    other extensions add to it.
    """

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802  # the library's name
        md.tab_length = 2
        md.parser = build_block_parser(md)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    index = (ROOT / DOCS / "README.md").read_text(encoding="utf-8")
    config.nav = [{"tsproxy": LANDING}, {"Documents": LIST}, *navigation(index)]
    config.copyright = f"tsproxy {tsproxy.__version__} · Apache-2.0"
    config.markdown_extensions.insert(0, _TwoSpaces())
    config.mdx_configs.setdefault("toc", {})["slugify"] = slug
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents outside `docs`, the files and folders that documents link to, and the style sheet."""
    outside, folders = outside_docs(ROOT)
    if (listed := files.get_file_from_path("README.md")) is not None:
        files.remove(listed)
    for path in sorted({*outside, f"{DOCS}/README.md"}):
        files.append(File.generated(config, place(path), abs_src_path=str(ROOT / path)))
    for folder in sorted(folders):
        if (content := listing(ROOT, folder)) is not None:
            files.append(File.generated(config, f"{place(folder)}/README.md", content=content))
    files.append(File.generated(config, "assets/site.css", content=_CSS))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Point links at the site. The page of a folder has only links to its own files."""
    path, folders = in_repository(page.file.src_uri), outside_docs(ROOT)[1]
    if path.removesuffix("/README.md") in folders and not (ROOT / path).exists():
        return markdown
    return rewritten(markdown, path, folders)


def on_page_content(html: str, **_: Any) -> str:
    """The page with headings whose keys may wrap at their dots: a window can be narrower than a key."""
    return wrapping_at_dots(html)


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """The page as it is. Raises PluginError if a browser would load parts of it from another server."""
    if found := loaded_from_elsewhere(output):
        raise PluginError(f"{page.file.src_uri} loads {', '.join(found)}")
    return output


def on_post_build(config: MkDocsConfig) -> None:
    """Links from before the pages had parts still work: `policy.html` leads to `guide/policy.html`."""
    site = Path(config.site_dir)
    for old, new in moved(page.relative_to(site).as_posix() for page in site.rglob("*.html")):
        (site / old).parent.mkdir(exist_ok=True)
        (site / old).write_text(_MOVED.format(new), encoding="utf-8")
