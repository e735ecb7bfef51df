import os
_T = dict(p.split("=") for p in os.environ.get("TRIAL", "").split(",") if p)
def trial(name, default):
    return _T.get(name, default)
