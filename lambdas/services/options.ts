import { REDELIVERED_HOURS, type Retention } from '../kernel/contract/retention.ts';

/** Checks the options of `createOnce` and `createVendor`. */

const SCOPE = /^[a-z](?:-?[a-z0-9]){1,49}$/;

export function checkScope(scope: string): void {
  check(
    SCOPE.test(scope),
    'scope',
    scope,
    'must be 2 to 50 lower-case letters and digits with single hyphens between them, beginning with a letter',
  );
}

export function checkRetention(retentionHours: Retention): void {
  for (const [scope, hours = 0] of Object.entries(retentionHours)) {
    check(hours >= 1, `retentionHours.${scope}`, hours, 'must be at least 1');
  }
  // With a shorter retention, an event that is redelivered late would be refused as too old, even if it never took
  // effect.
  const { events = REDELIVERED_HOURS } = retentionHours;
  check(events >= REDELIVERED_HOURS, 'retentionHours.events', events, `must be at least ${REDELIVERED_HOURS}`);
}

const SCHEMA_NAME = /^[a-z][a-z0-9_]{0,62}$/;

export function checkSchema(schema: string | undefined): void {
  const isName = schema === undefined || SCHEMA_NAME.test(schema);
  check(isName, 'schema', schema, 'must be lower-case letters, digits and _');
}

export function check(holds: boolean, option: string, given: unknown, allowed: string): void {
  if (!holds) throw new Error(`${option} ${JSON.stringify(given)} ${allowed}.`);
}
