"""Ask the host's own dashboard application, without its start-up: which plugins it has, and what lcm's tab is told."""

from __future__ import annotations

from common import give, read_job


def main() -> None:
    from hermes_cli import web_server
    from starlette.testclient import TestClient

    job = read_job()
    client = TestClient(
        web_server.app, base_url="http://127.0.0.1:9119", client=("127.0.0.1", 50000)
    )
    header = {web_server._SESSION_HEADER_NAME: web_server._SESSION_TOKEN}

    def get(path: str, headers: dict | None) -> list:
        answer = client.get(path, headers=headers or {})
        kind = answer.headers.get("content-type", "")
        return [answer.status_code, answer.json() if "json" in kind else answer.text]

    listed = get("/api/dashboard/plugins", header)[1]
    give(
        {
            "plugin": next((each for each in listed if each["name"] == "lcm"), None),
            "entry": get("/dashboard-plugins/lcm/index.js", header),
            "bare": [get(path, None)[0] for path in job["paths"]],
            "answers": [get(path, header) for path in job["paths"]],
        }
    )


if __name__ == "__main__":
    main()
