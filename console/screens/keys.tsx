import type { ComponentChildren } from 'preact';
import { Act } from '../act.tsx';
import { may, type Schemas } from '../api.ts';
import { Copy, Id, Time } from '../parts.tsx';
import { useOwner, usePlace } from '../place.ts';
import { useApi } from '../reading.ts';
import { List } from '../table.tsx';
import { Limits } from './limits.tsx';

type Key = Schemas['KeyList']['data'][number];

/** If a scope is missing here, the compiler reports it. */
const SCOPES: Readonly<Record<Schemas['CreateKey']['scopes'][number], true>> = {
  'payments:read': true,
  'payments:write': true,
  'events:read': true,
  'ledger:read': true,
  'webhooks:read': true,
  'webhooks:write': true,
  'exports:read': true,
  'exports:write': true,
};

/** A shop that makes payments and follows them needs these scopes. */
const USUAL_SCOPES = 'payments:read payments:write events:read ledger:read';

/** Only the first response to the request contains the secret. */
function secretOf(answer: unknown) {
  const { secret } = answer as { readonly secret: string | null };
  if (secret === null)
    return <p>The key already exists. Its secret was shown when it was created, and cannot be shown again.</p>;
  return (
    <>
      <p>Copy the secret now. It is not shown again.</p>
      <pre>{secret}</pre>
      <Copy text={secret} />
    </>
  );
}

export function Keys() {
  const { tenant, mode } = useOwner();
  const { to } = usePlace();
  const { self } = useApi();
  const create = (
    <Act
      name="Create key"
      does={`Creates an API key of ${tenant}. Its secret is shown only once.`}
      role="owner"
      path="/v1/admin/keys"
      fixed={{ tenant }}
      initial={{ mode, scopes: USUAL_SCOPES }}
      fields={[
        { name: 'name', label: 'Purpose of the key' },
        { name: 'mode', label: 'Mode', choices: ['test', 'live'] },
        { name: 'scopes', label: 'Scopes', options: Object.keys(SCOPES) },
        { name: 'expires_in_days', label: 'Days until it expires', isOptional: true, isWhole: true },
      ]}
      shows={secretOf}
    />
  );
  return (
    <>
      <h1>Keys and limits</h1>
      <p class="soft-text">
        The API keys of {tenant}, in both modes. <a href={to('activity', { of: 'tenant' })}>Activity</a> shows who
        created, rolled or revoked one, in the mode at the top of the page.
      </p>
      {may(self, 'owner') ? (
        <KeyList
          path={`/v1/admin/keys?limit=100&tenant=${encodeURIComponent(tenant)}`}
          none="The tenant has no key."
          hint="Create a key, and give it to the tenant."
          acts={create}
        />
      ) : (
        <div class="acts">{create}</div>
      )}
      <Limits tenant={tenant} />
    </>
  );
}

export function Operators() {
  return (
    <>
      <h1>Operators</h1>
      <p class="soft-text">
        The keys of operators. The command <code>payonce operators create</code> creates one.
      </p>
      <KeyList
        path="/v1/admin/keys?limit=100"
        none="No operator has a key."
        hint="Operators sign in with an identity provider."
      />
    </>
  );
}

function KeyList(list: {
  readonly path: string;
  readonly none: string;
  readonly hint: string;
  readonly acts?: ComponentChildren;
}) {
  return (
    <List<Key>
      {...list}
      label="Keys"
      first={{ title: 'Created', direction: 'descending' }}
      columns={[
        { title: 'Key', of: ({ id }) => <Id of={id} /> },
        { title: 'Name', of: ({ name }) => name, by: ({ name }) => name },
        { title: 'Permissions', of: ({ mode, role, scopes }) => role ?? `${mode ?? ''}: ${scopes.join(' ')}` },
        { title: 'Created', of: ({ created }) => <Time at={created} />, by: ({ created }) => created },
        { title: 'Last used', of: (row) => row.last_used ?? 'never', by: (row) => row.last_used },
        { title: 'State', of: (row) => <State row={row} />, by: (row) => stateOf(row) },
        { title: 'Actions', isActs: true, of: (row) => <Acts row={row} /> },
      ]}
    />
  );
}

function stateOf({ revoked, expires }: Key): 'revoked' | 'expired' | 'valid' {
  if (revoked !== null) return 'revoked';
  return expires !== null && expires * 1000 <= Date.now() ? 'expired' : 'valid';
}

function State({ row }: { readonly row: Key }) {
  const { revoked, expires, rolled_to: successor } = row;
  const state = stateOf(row);
  const end = state === 'revoked' ? revoked : expires;
  return (
    <>
      {state === 'valid' && end !== null ? 'valid until' : state} {end !== null && <Time at={end} />}
      {successor !== null && (
        <div>
          replaced by <Id of={successor} />
        </div>
      )}
    </>
  );
}

function Acts({ row }: { readonly row: Key }) {
  const state = stateOf(row);
  const ended = state === 'valid' ? undefined : state === 'revoked' ? 'The key is revoked.' : 'The key has expired.';
  const path = `/v1/admin/keys/${row.id}`;
  return (
    <span class="acts">
      {row.tenant !== null && (
        <Act
          name="Roll"
          does={`Creates a replacement of the key ${row.name} (${row.id}). The old key stays valid for the given hours. The new secret is shown only once.`}
          role="owner"
          because={ended ?? (row.rolled_to === null ? undefined : 'The key was already rolled.')}
          path={`${path}/roll`}
          fields={[
            {
              name: 'overlap_hours',
              label: 'Hours that the old key stays valid; 24 if empty',
              isOptional: true,
              isWhole: true,
            },
          ]}
          shows={secretOf}
        />
      )}
      <Act
        name="Revoke"
        does={`Revokes the key ${row.name} (${row.id}). The API no longer accepts it. This cannot be undone.`}
        role="owner"
        because={ended}
        method="PATCH"
        path={path}
        fixed={{ revoked: true }}
        fields={[]}
        says={() => `The key ${row.name} is revoked.`}
      />
    </span>
  );
}
