"""Secrets that a template generates without punctuation, and secret ARNs that are known before the secrets exist.

The emulator's CloudFormation ignores `ExcludePunctuation` (AWS::SecretsManager::Secret GenerateSecretString), so a generated
signing key would not be base64.

On AWS, the ARN of a secret ends in six random characters. A setting contains the ARN of the database secret before the secret
exists. Therefore, every secret that is created through the API gets the same suffix.
"""

import string

from ministack.services import secretsmanager
from ministack.services.cloudformation import provisioners

# This file wraps internals of the emulator.
USED = {provisioners: ["_sm_secret_string"], secretsmanager: ["_store_new_secret", "_secrets"]}
ARN_END = "local0"

_secret_string = provisioners._sm_secret_string
_store = secretsmanager._store_new_secret


def generate(props):
    rule = props.get("GenerateSecretString")
    if rule and str(rule.get("ExcludePunctuation", "")).lower() == "true":
        excluded = rule.get("ExcludeCharacters", "") + string.punctuation
        props = {**props, "GenerateSecretString": {**rule, "ExcludeCharacters": excluded}}
    return _secret_string(props)


def store(name, *args, **kwargs):
    arn, version = _store(name, *args, **kwargs)
    known = f"{arn[: -len(ARN_END)]}{ARN_END}"
    secretsmanager._secrets[name]["ARN"] = known
    return known, version


def install():
    provisioners._sm_secret_string = generate
    secretsmanager._store_new_secret = store
