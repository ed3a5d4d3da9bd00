import {
  type Cause,
  keyIdOf,
  type Occasion,
  type OperatorCause,
  type RequestCause,
} from '../../lambdas/kernel/cause.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';

/** The ids are as long as in production. */
export const BY_REQUEST: RequestCause = {
  by: 'request',
  requestId: '3f0a52d4-2f0e-4c8b-9a86-7d1c8b1f6e42',
  keyId: keyIdOf(systemDigest.sha256('an API key')),
};

export const BY_OPERATOR: OperatorCause = {
  by: 'operator',
  operator: 'Ada Example',
  identity: BY_REQUEST.keyId,
  requestId: BY_REQUEST.requestId,
};

export const RUN = { runId: 'resolve:2026-03-01T12:00:00Z' } as const;
export const BY_RUN: Cause = { by: 'run', ...RUN };

export function requestedAt(occurredAtMs: number): Occasion {
  return { occurredAtMs, cause: BY_REQUEST };
}

export const OPERATOR = { name: 'Ada Example', person: 'Ada Example', identity: 'key_ada' } as const;
