"""The documents as a web site: `make docs` (MkDocs, `mkdocs.yml`).

    links   the places of documents on the site, from their places in the repository; pure
    hooks   what MkDocs calls

Pages stay plain Markdown, with links that work in the repository. Documents outside `docs`, and the files
that they name, are in the folder `repository` of the site. The index of the documents is also the navigation.
"""
