import { useEffect, useState } from 'preact/hooks';
import { Icon } from './icons.tsx';
import { addressOf, hashOf, MODES, usePlace } from './place.ts';
import { useApi } from './reading.ts';

export function Header({
  query,
  signOut,
  isOpen,
  toggle,
}: {
  readonly query: string;
  readonly signOut: () => void;
  /** Applies to a narrow page. A wide page always shows the list of screens. */
  readonly isOpen: boolean;
  readonly toggle: () => void;
}) {
  const { self } = useApi();
  const { mode } = usePlace();
  return (
    <header class={`top${mode === 'test' ? ' is-test' : ''}${isOpen ? ' is-open' : ''}`}>
      <button
        type="button"
        class="menu"
        aria-label="Menu"
        aria-expanded={isOpen}
        aria-controls="screens"
        onClick={toggle}
      >
        <Icon name="menu" /> <span>Menu</span>
      </button>
      <strong>Payonce</strong>
      <Switch />
      <Search query={query} />
      <span class="who">
        {self.operator} ({self.role}){' '}
        <button type="button" class="quiet" onClick={signOut}>
          Sign out
        </button>
      </span>
    </header>
  );
}

function Search({ query }: { readonly query: string }) {
  const { to } = usePlace();
  const [text, setText] = useState(query);
  useEffect(() => setText(query), [query]);
  return (
    <search class="search">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const given = text.trim();
          location.hash = /^pay_[a-z2-7]{32}$/.test(given)
            ? to(`payments/${encodeURIComponent(given)}`)
            : to('payments', { q: given });
        }}
      >
        <Icon name="search" />
        <label>
          <span class="hidden">Search payments</span>
          <input
            type="search"
            required
            placeholder="Id, reference, whole e-mail or payment key"
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
      </form>
    </search>
  );
}

function Switch() {
  const { tenant, mode, tenants, isUnknown } = usePlace();
  const show = (scope: Parameters<typeof hashOf>[1]) => {
    const { path, filters } = addressOf(location.hash);
    // After the operator chooses a tenant, a search covers only this tenant.
    filters.delete('in');
    // A payment belongs to one tenant and mode, so the list is shown after a switch.
    const [list = ''] = path.split('/');
    location.hash = hashOf(path.startsWith('payments/') ? list : path, scope, filters);
  };
  const isListed = tenants.some(({ id }) => id === tenant);
  return (
    <div class="switch">
      <label>
        <span class="hidden">Tenant</span>
        <select
          value={tenant ?? ''}
          onChange={({ currentTarget: { value } }) =>
            show({ tenant: value, ...(tenant === undefined ? {} : { mode }) })
          }
        >
          {tenant === undefined && <option value="">Choose a tenant</option>}
          {tenant !== undefined && !isListed && (
            <option value={tenant}>{isUnknown ? `${tenant} (unknown)` : tenant}</option>
          )}
          {tenants.map(({ id, name }) => (
            <option key={id} value={id}>
              {name === '' || name === id ? id : `${name} (${id})`}
            </option>
          ))}
        </select>
      </label>
      <fieldset class="modes">
        <legend class="hidden">Mode</legend>
        {MODES.map((each) => (
          <label key={each}>
            <input
              type="radio"
              name="mode"
              checked={each === mode}
              disabled={tenant === undefined}
              onChange={() => show({ tenant, mode: each })}
            />
            <span>{each === 'live' ? 'Live' : 'Test'}</span>
          </label>
        ))}
      </fieldset>
    </div>
  );
}
