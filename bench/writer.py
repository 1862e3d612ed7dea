"""One of many writers: `writer.py product|bare FOLDER SAVES NUMBER`; prints how many saves were acknowledged."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import stores


def main() -> int:
    kind, folder, saves, number = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    texts = stores.texts(1_000_000 + number * 1000)
    kept = 0
    if kind == "bare":
        bare = stores.Bare(Path(folder) / "bare.db", 0)
        for _ in range(saves):
            bare.save(*next(texts))
            kept += 1
    else:
        os.environ["ENGRAM_DATA_DIR"] = folder
        from engram.bootstrap import open_app

        app = open_app(workspace=folder)
        for _ in range(saves):
            title, content, project = next(texts)
            app.observations.save(title=title, content=content, project=project)
            kept += 1
        app.close()
    print(kept)
    return 0


if __name__ == "__main__":
    sys.exit(main())
