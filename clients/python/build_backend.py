"""Builds the wheel (PEP 517) with the standard library only. The same sources give the same bytes."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
_PACKAGE = _HERE / "src" / "payonce"
_EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a ZIP archive can record."""


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    return []


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Write the wheel, and return the name of its file."""
    if not (_PACKAGE / "api_types.py").exists():
        raise FileNotFoundError("src/payonce/api_types.py is missing: `npm run generate` writes it")
    about = dict(re.findall(r'^([\w-]+) = "(.*)"$', (_HERE / "pyproject.toml").read_text("utf-8"), re.MULTILINE))
    tag = "py3-none-any"
    info = f"{about['name']}-{about['version']}.dist-info"
    metadata = (
        f"Metadata-Version: 2.1\nName: {about['name']}\nVersion: {about['version']}\nSummary: {about['description']}\n"
        f"License: {about['license']}\nLicense-File: LICENSE\nRequires-Python: {about['requires-python']}\n"
        "Description-Content-Type: text/markdown\n\n" + (_HERE / "README.md").read_text("utf-8")
    )
    sources = sorted(path for path in _PACKAGE.iterdir() if path.name == "py.typed" or path.suffix == ".py")
    files = {f"payonce/{path.name}": path.read_bytes() for path in sources}
    files[f"{info}/METADATA"] = metadata.encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: payonce\nRoot-Is-Purelib: true\nTag: {tag}\n".encode()
    files[f"{info}/LICENSE"] = (_HERE.parents[1] / "LICENSE").read_bytes()
    record = "".join(f"{name},sha256={_digest(data)},{len(data)}\n" for name, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    wheel = f"{about['name']}-{about['version']}-{tag}.whl"
    with zipfile.ZipFile(Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, _EARLIEST)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return wheel


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    print(build_wheel(sys.argv[1]))
