"""Secrets that a template generates without punctuation.

The emulator's CloudFormation ignores `ExcludePunctuation` (AWS::SecretsManager::Secret GenerateSecretString), so that a generated
key of a signature was not base64.
"""

import string

from ministack.services.cloudformation import provisioners

# This file wraps an internal of the emulator.
USED = {provisioners: ["_sm_secret_string"]}

_secret_string = provisioners._sm_secret_string


def generate(props):
    rule = props.get("GenerateSecretString")
    if rule and str(rule.get("ExcludePunctuation", "")).lower() == "true":
        excluded = rule.get("ExcludeCharacters", "") + string.punctuation
        props = {**props, "GenerateSecretString": {**rule, "ExcludeCharacters": excluded}}
    return _secret_string(props)


def install():
    provisioners._sm_secret_string = generate
