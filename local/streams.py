"""Positions of DynamoDB streams after a restart. The emulator restores the read position of each function, but not the records:
new records are numbered from 0 again. A function would skip as many new records as it had read before the restart, so its
position is reset to 0.
"""

from ministack.services import lambda_svc

# This file replaces and writes internals of the emulator.
USED = {lambda_svc: ["_restore_esm_positions", "_dynamodb_stream_positions"]}

_restore = lambda_svc._restore_esm_positions


def restore(store, positions):
    _restore(store, positions)
    if store is lambda_svc._dynamodb_stream_positions:
        for key in store._data:
            store._data[key] = 0


def install():
    lambda_svc._restore_esm_positions = restore
