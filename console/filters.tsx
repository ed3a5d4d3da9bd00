import { useState } from 'preact/hooks';
import { isCurrency } from '../lambdas/kernel/currency.ts';
import { Trouble } from './parts.tsx';
import { usePlace } from './place.ts';
import { amountToEnter, amountWanted, type DayOfRange, dayToSend, enteredAmount, sentDay } from './show.ts';

export interface Filter {
  readonly name: string;
  readonly label: string;
  readonly required?: true;
  readonly choices?: readonly string[];
  /** Set for a day in UTC, which is sent as Unix seconds. */
  readonly day?: DayOfRange;
  /** Set for a day in UTC, which is sent as entered. */
  readonly isDate?: true;
  /** Set for an amount. It is in the currency of the field `currency`, and is sent in minor units. */
  readonly isMoney?: true;
}

/** The page's address contains the values, so that a link to it shows the same results. */
export function Filters({
  screen,
  act,
  filters,
  fields,
  isOpen = fields.some(({ name }) => filters.has(name)),
}: {
  readonly screen: string;
  readonly act: string;
  readonly filters: URLSearchParams;
  readonly fields: readonly Filter[];
  /** @default open if a filter is set */
  readonly isOpen?: boolean;
}) {
  const { to } = usePlace();
  return (
    <details class="filters" open={isOpen}>
      <summary>Filter</summary>
      <FilterForm act={act} fields={fields} filters={filters} apply={(given) => (location.hash = to(screen, given))} />
    </details>
  );
}

function FilterForm({
  act,
  filters,
  fields,
  apply,
}: {
  readonly act: string;
  readonly filters: URLSearchParams;
  readonly fields: readonly Filter[];
  readonly apply: (given: Values) => void;
}) {
  const [given, setGiven] = useState(() => written(fields, Object.fromEntries(filters)));
  const [error, setError] = useState<unknown>();
  return (
    <form
      class="fields"
      onSubmit={(event) => {
        event.preventDefault();
        try {
          const filled = Object.entries(sent(fields, given)).filter(([, value]) => value !== '');
          setError(undefined);
          apply(Object.fromEntries(filled));
        } catch (wrong) {
          setError(wrong);
        }
      }}
    >
      {fields.map(({ name, label, required, choices, day, isDate }) => {
        const value = given[name] ?? '';
        const change = (next: string) => setGiven({ ...given, [name]: next });
        return (
          <label key={name}>
            {label}
            {choices === undefined ? (
              <input
                {...(day !== undefined || isDate ? { type: 'date' as const } : { type: 'text' as const })}
                required={required === true}
                value={day !== undefined && value !== '' ? sentDay(Number(value), day) : value}
                onInput={({ currentTarget: { value: next } }) =>
                  change(day !== undefined && next !== '' ? String(dayToSend(next, day)) : next)
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
      {error !== undefined && <Trouble error={error} />}
      <button type="submit" class="main">
        {act}
      </button>
    </form>
  );
}

type Values = Readonly<Record<string, string>>;

function written(fields: readonly Filter[], { currency = '', ...filters }: Values): Values {
  const amounts = fields.flatMap<[string, string]>(({ name, isMoney }) => {
    const minor = filters[name] ?? '';
    return isMoney && isCurrency(currency) && /^\d+$/.test(minor)
      ? [[name, amountToEnter(Number(minor), currency)]]
      : [];
  });
  return { ...filters, ...(currency === '' ? {} : { currency }), ...Object.fromEntries(amounts) };
}

/** @throws Error when an amount is not valid in the currency */
function sent(fields: readonly Filter[], entered: Values): Values {
  const given: Values = Object.fromEntries(Object.entries(entered).map(([name, text]) => [name, text.trim()]));
  const { currency = '' } = given;
  const amounts = fields.flatMap<[string, string]>(({ name, label, isMoney }) => {
    const text = given[name] ?? '';
    if (!isMoney || text === '') return [];
    if (!isCurrency(currency)) throw new Error(`${label} needs a currency code, for example EUR.`);
    const minor = enteredAmount(text, currency);
    if (minor === undefined) throw new Error(amountWanted(label, currency));
    return [[name, String(minor)]];
  });
  return { ...given, ...Object.fromEntries(amounts) };
}
