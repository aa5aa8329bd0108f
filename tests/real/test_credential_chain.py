# SPDX-License-Identifier: Apache-2.0
"""Where S3 credentials come from, compared with what botocore finds in the same environment and files.

The unit test of credentials prints what it finds when called with the settings of a catalog.
"""

import http.server
import json
import os
import pathlib
import subprocess
import threading
import unittest.mock
import urllib.parse

import pytest

STS = """<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
<AssumedRoleUser><Arn>arn:aws:sts::1:assumed-role/r/s</Arn><AssumedRoleId>I:s</AssumedRoleId></AssumedRoleUser>
<Credentials><AccessKeyId>ASIASTS</AccessKeyId><SecretAccessKey>{}</SecretAccessKey><SessionToken>st/=</SessionToken>
<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>
<ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></AssumeRoleWithWebIdentityResponse>"""


class Services(http.server.BaseHTTPRequestHandler):
    """A container's, an instance's and STS's answers; the secret tells what was asked with."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def document(self, secret):
        keys = {"Code": "Success", "AccessKeyId": "ASIA", "SecretAccessKey": secret, "Token": "to/ken==",
                "RoleArn": "arn:aws:iam::1:role/r", "Expiration": "2099-01-01T00:00:00Z"}
        self.reply(200, json.dumps(keys))

    def do_PUT(self):
        self.reply(200 if self.headers["x-aws-ec2-metadata-token-ttl-seconds"] else 400, "imds")

    def do_GET(self):
        roles = "/latest/meta-data/iam/security-credentials/"
        if self.path.startswith(roles) and self.headers["X-aws-ec2-metadata-token"] != "imds":
            self.reply(401, "")
        elif self.path == roles:
            self.reply(200, "my-role")
        elif self.path == roles + "my-role":
            self.document("instance")
        elif self.path == "/container?x=1":
            self.document("container-" + (self.headers["Authorization"] or "nobody"))
        else:
            self.reply(404, "")

    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        told = [form[key][0] for key in ("Action", "RoleArn", "RoleSessionName", "WebIdentityToken")]
        self.reply(200, STS.format("|".join(told).replace(" ", "_")))


@pytest.fixture(scope="module")
def services():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Services)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


@pytest.fixture
def find(calve, tmp_path, services):
    """Asks both with the same files and environment, and returns what both found."""
    session = pytest.importorskip("botocore.session", reason="botocore is not installed")
    places = [build / "tests" / "unit" / "test_storage_credentials" for build in pathlib.Path(calve).parents]
    program = next((place for place in places if place.exists()), None)
    if program is None:
        pytest.skip("tests/unit/test_storage_credentials was not built beside the program")

    def ask(profile="", **variables):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        environment = {**kept, "HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true", **variables}
        settings = f"s3.profile-name={profile}" if profile else ""
        run = subprocess.run([program, settings], check=True, capture_output=True, text=True, env=environment, timeout=60)
        with unittest.mock.patch.dict(os.environ, environment, clear=True):
            found = session.Session(profile=profile or None).get_credentials()
            found = found and found.get_frozen_credentials()
        ours = run.stdout.strip()
        theirs = f"{found.access_key} {found.secret_key} {found.token or '-'}" if found else "none"
        assert ours == theirs
        return ours

    return ask


def write(tmp_path, name, text):
    (tmp_path / ".aws").mkdir(exist_ok=True)
    (tmp_path / ".aws" / name).write_text(text)
    return str(tmp_path / ".aws" / name)


def test_environment_and_files(find, tmp_path):
    assert find() == "none"
    write(tmp_path, "config", "[default]\nregion = eu-west-1\n[profile c]\naws_access_key_id = C\n"
          "aws_secret_access_key = c+/=\n[both]\naws_access_key_id = wrong\naws_secret_access_key = wrong\n")
    assert find() == "none"
    assert find("c") == "C c+/= -"
    write(tmp_path, "credentials", "# mine\n[default]\nAWS_Access_Key_Id=D\naws_secret_access_key =  d#d;d  \n\n"
          "[both]\naws_access_key_id = B\naws_secret_access_key: b = b\naws_session_token = t=t=\n".replace(": b = b", " = b=b"))
    assert find() == "D d#d;d -"
    assert find("both") == "B b=b t=t="
    assert find(AWS_PROFILE="both") == "B b=b t=t="
    keys = {"AWS_ACCESS_KEY_ID": "E", "AWS_SECRET_ACCESS_KEY": "e", "AWS_SESSION_TOKEN": "s"}
    assert find(**keys) == "E e s"
    assert find("both", **keys) == "B b=b t=t="
    elsewhere = write(tmp_path, "elsewhere", "[default]\naws_access_key_id=X\naws_secret_access_key=x\n")
    assert find(AWS_SHARED_CREDENTIALS_FILE=elsewhere) == "X x -"


def test_services(find, tmp_path, services):
    container = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": services + "/container?x=1"}
    assert find(**container) == "ASIA container-nobody to/ken=="
    assert find(**container, AWS_CONTAINER_AUTHORIZATION_TOKEN="Basic_abc") == "ASIA container-Basic_abc to/ken=="
    token = write(tmp_path, "token", "from-file")
    both = {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": token, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "no"}
    assert find(**container, **both) == "ASIA container-from-file to/ken=="
    instance = {"AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": services}
    assert find(**instance) == "ASIA instance to/ken=="
    assert find(**instance, **container) == "ASIA container-nobody to/ken=="


def test_web_identity(find, tmp_path, services):
    token = write(tmp_path, "identity", "ey.J+/=")
    settings = {"AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ROLE_ARN": "arn:aws:iam::1:role/r",
                "AWS_ROLE_SESSION_NAME": "me@here", "AWS_ENDPOINT_URL_STS": services, "AWS_REGION": "eu-west-1"}
    wanted = "ASIASTS AssumeRoleWithWebIdentity|arn:aws:iam::1:role/r|me@here|ey.J+/= st/="
    assert find(**settings) == wanted
    write(tmp_path, "config", f"[profile k]\nrole_arn = arn:aws:iam::1:role/r\nrole_session_name = me@here\n"
          f"web_identity_token_file = {token}\nregion = eu-west-1\n")
    assert find("k", AWS_ENDPOINT_URL_STS=services) == wanted
