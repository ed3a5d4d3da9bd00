import { useState } from 'preact/hooks';
import type { Schemas } from './api.ts';
import { useRead } from './parts.tsx';
import { dayOf } from './show.ts';

export interface Filter {
  readonly name: string;
  readonly label: string;
  readonly required?: true;
  readonly choices?: readonly string[];
  /** A day in UTC, which the API gets as Unix seconds. */
  readonly isDay?: true;
  /** A day in UTC, which the API gets as it is written. */
  readonly isDate?: true;
}

/** A form whose values are in the address of the page, so that what it finds can be shared as a link. */
export function Filters({
  screen,
  act,
  filters,
  fields,
}: {
  readonly screen: string;
  readonly act: string;
  readonly filters: URLSearchParams;
  readonly fields: readonly Filter[];
}) {
  const [given, setGiven] = useState<Readonly<Record<string, string>>>(Object.fromEntries(filters));
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        const filled = Object.entries(given).filter(([, value]) => value !== '');
        location.hash = `#/${screen}?${new URLSearchParams(filled).toString()}`;
      }}
    >
      {fields.map(({ name, label, required, choices, isDay, isDate }) => {
        const value = given[name] ?? '';
        const change = (next: string) => setGiven({ ...given, [name]: next.trim() });
        return (
          <label key={name}>
            {label}
            {choices === undefined ? (
              <input
                {...(isDay || isDate ? { type: 'date' as const } : { type: 'text' as const })}
                {...(name === 'tenant' ? { list: 'tenants' } : {})}
                required={required === true}
                value={isDay && value !== '' ? dayOf(Number(value)) : value}
                onInput={({ currentTarget: { value: next } }) =>
                  change(isDay && next !== '' ? String(Date.parse(next) / 1000) : next)
                }
              />
            ) : (
              <select
                required={required === true}
                value={value}
                onChange={({ currentTarget }) => change(currentTarget.value)}
              >
                {['', ...choices].map((choice) => (
                  <option key={choice}>{choice}</option>
                ))}
              </select>
            )}
          </label>
        );
      })}
      {fields.some(({ name }) => name === 'tenant') && <TenantNames />}
      <button type="submit" class="main">
        {act}
      </button>
    </form>
  );
}

/** What a field for a tenant suggests. Any other id can be typed. */
function TenantNames() {
  const { answer } = useRead<Schemas['TenantList']>('/v1/admin/tenants?limit=100');
  return (
    <datalist id="tenants">
      {answer?.data.map(({ id, name }) => (
        <option key={id} value={id} label={name} />
      ))}
    </datalist>
  );
}
