import { expect, test } from '@jest/globals';
import { type Examined, examine } from '../../cli/doctor.ts';
import { keyIdOf } from '../../lambdas/kernel/cause.ts';

const NOW_MS = Date.UTC(2026, 2, 1);
type Key = Examined['keys'][number];
const key = (name: string, changes: Partial<Key> = {}): Key => ({
  id: keyIdOf(Buffer.from(name.padEnd(32, 'x'))),
  mode: 'test',
  ...(name === 'endless' ? {} : { expiresAtMs: NOW_MS + 1 }),
  ...changes,
});

test('the doctor finds live keys beside the sandbox, empty secrets and keys without expiry', () => {
  const live = key('live', { mode: 'live' });
  const endless = key('endless');
  const { mode: _mode, ...operators } = key('endless', { id: keyIdOf(Buffer.from('operators'.padEnd(32, 'x'))) });
  const keys = [
    key('good'),
    live,
    endless,
    operators,
    key('revoked', { mode: 'live', revokedAtMs: 1 }),
    key('old', { expiresAtMs: 1 }),
  ];
  const secrets = [
    { name: 'Good', text: '{"current":"a"}' },
    { name: 'Empty', text: '' },
    { name: 'NoValues', text: ' {} ' },
  ];

  const found = examine({ settings: { sandbox: 'true' }, keys, secrets, nowMs: NOW_MS });

  expect(found.map(({ check, about }) => [check, about])).toEqual([
    ['sandbox_with_live_keys', live.id],
    ['empty_secret', 'Empty'],
    ['empty_secret', 'NoValues'],
    ['key_without_expiry', endless.id],
    ['key_without_expiry', operators.id],
  ]);
  expect(examine({ settings: { sandbox: 'false' }, keys: [key('good'), live], secrets: [], nowMs: NOW_MS })).toEqual(
    [],
  );
});
