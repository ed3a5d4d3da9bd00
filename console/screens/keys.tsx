import { Act } from '../act.tsx';
import type { Schemas } from '../api.ts';
import { List, useTurns } from '../parts.tsx';
import { time } from '../show.ts';
import { Limits } from './limits.tsx';

type Key = Schemas['KeyList']['data'][number];

const SCOPES = 'payments:read payments:write events:read ledger:read webhooks:read webhooks:write';

/** Renders the secret. Only the first response contains the secret. */
function secretOf(answer: unknown) {
  const { secret } = answer as { readonly secret: string | null };
  if (secret === null)
    return <p>The key already exists. Its secret was shown when it was created, and cannot be shown again.</p>;
  return (
    <>
      <p>Copy the secret now. It is not shown again.</p>
      <pre>{secret}</pre>
    </>
  );
}

/** Shows the keys of operators, or of a tenant. */
export function Keys({ filters }: { readonly filters: URLSearchParams }) {
  const [turn, again] = useTurns();
  const tenant = filters.get('tenant');
  return (
    <>
      <h1>{tenant === null ? 'Keys' : `Keys of ${tenant}`}</h1>
      {tenant === null ? (
        <p>The keys of operators. For the keys and limits of a tenant, see the screen Tenants.</p>
      ) : (
        <p class="acts">
          <Act
            name="Create key"
            does={`Creates an API key of ${tenant}. Its secret is shown only once.`}
            role="owner"
            path="/v1/admin/keys"
            fixed={{ tenant }}
            fields={[
              { name: 'name', label: 'Purpose of the key' },
              { name: 'mode', label: 'Mode', choices: ['test', 'live'] },
              { name: 'scopes', label: `Scopes, separated by spaces (${SCOPES})`, isList: true },
              { name: 'expires_in_days', label: 'Days until it expires', isOptional: true, isWhole: true },
            ]}
            shows={secretOf}
            done={again}
          />
        </p>
      )}
      <List<Key>
        key={turn}
        label="Keys"
        path={`/v1/admin/keys${tenant === null ? '' : `?tenant=${encodeURIComponent(tenant)}`}`}
        columns={[
          { title: 'Key', of: ({ id }) => <code>{id}</code> },
          { title: 'Name', of: ({ name }) => name },
          { title: 'May', of: ({ mode, role, scopes }) => role ?? `${mode ?? ''}: ${scopes.join(' ')}` },
          { title: 'Created', of: ({ created }) => time(created) },
          { title: 'Last used', of: (row) => row.last_used ?? '–' },
          { title: 'Revoked', of: ({ revoked }) => (revoked === null ? 'no' : time(revoked)) },
          { title: 'Acts', of: (row) => <Acts row={row} again={again} /> },
        ]}
      />
      {tenant !== null && <Limits tenant={tenant} />}
    </>
  );
}

function Acts({ row, again }: { readonly row: Key; readonly again: () => void }) {
  const ended = row.revoked === null ? undefined : 'It is revoked.';
  const path = `/v1/admin/keys/${row.id}`;
  return (
    <span class="acts">
      {row.tenant !== null && (
        <Act
          name="Roll"
          does="Creates a new key as replacement. This key stays valid for some hours. The new secret is shown only once."
          role="owner"
          because={ended ?? (row.rolled_to === null ? undefined : 'The key was already rolled.')}
          path={`${path}/roll`}
          fields={[
            {
              name: 'overlap_hours',
              label: 'Hours that the old key stays valid (24)',
              isOptional: true,
              isWhole: true,
            },
          ]}
          shows={secretOf}
          done={again}
        />
      )}
      <Act
        name="Revoke"
        does={`The key ${row.name} is no longer accepted. This cannot be undone.`}
        role="owner"
        because={ended}
        method="PATCH"
        path={path}
        fixed={{ revoked: true }}
        fields={[]}
        done={again}
      />
    </span>
  );
}
