import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { parseAmount } from '../lambdas/kernel/currency.ts';
import { may, Refused, type Role, type Schemas } from './api.ts';
import { Table, Trouble, useApi, useApiOf } from './parts.tsx';
import { amountWanted, money } from './show.ts';

/** A value to send, optionally with its label. */
type Choice = string | readonly [value: string, shown: string];

interface Field {
  readonly name: string;
  readonly label: string;
  readonly choices?: readonly Choice[];
  readonly isOptional?: true;
  readonly isWhole?: true;
  /** The currency of an amount. The amount is entered with decimals and sent in minor units. */
  readonly currency?: string;
  /** Set for a flag, which is sent as true or not at all. */
  readonly isFlag?: true;
  /** Set for a day in UTC, which is sent as Unix seconds. */
  readonly isDay?: true;
  /** Set for a day, which is sent as entered. */
  readonly isDate?: true;
  /** Set for a list of words, entered with spaces between them. */
  readonly isList?: true;
}

interface ActProps {
  readonly name: string;
  /** A sentence that describes the effect. */
  readonly does: string;
  readonly role: Role;
  /** The reason why the action is not possible now. */
  readonly because?: string | undefined;
  readonly method?: 'PATCH';
  readonly path: string;
  /** The tenant and mode, for a route that tenants call. */
  readonly tenant?: string;
  readonly fields: readonly Field[];
  /** Whether the API can preview the effect (`dry_run`). */
  readonly preview?: true;
  /** Content to compare while deciding. */
  readonly details?: ComponentChildren;
  readonly fixed?: Readonly<Record<string, unknown>>;
  /** Renders fields of the response before the dialog closes. */
  readonly shows?: (answer: unknown) => ComponentChildren;
  /** Called with the response after the action. */
  readonly done: (answer: unknown) => void;
  /** Called when the dialog closes after a refusal, because the screen may be outdated. */
  readonly refused?: () => void;
}

type Values = Readonly<Record<string, string>>;

/** Thrown when a field has an invalid value, so nothing was sent. */
class Unsent extends Error {}

/**
 * Offers an action to an operator, with a description of its effect and one confirmation. The idempotency key is
 * generated when the dialog opens, so a double click, or a retry after a lost response, causes only one action.
 */
export function Act(props: ActProps) {
  const { name, role, because } = props;
  const { self } = useApi();
  const [key, setKey] = useState<string>();
  // The browser may report the closing of a dialog only after the next dialog was opened.
  const closed = (own: string) => () => setKey((now) => (now === own ? undefined : now));
  const why = may(self, role) ? because : `Your role is ${self.role}; this action needs ${role}.`;
  const id = `why-${name.replaceAll(/\W+/g, '-')}`;
  return (
    <>
      <button
        type="button"
        disabled={why !== undefined}
        aria-describedby={why === undefined ? undefined : id}
        onClick={() => setKey(crypto.randomUUID())}
      >
        {name}
      </button>
      {why !== undefined && (
        <small id={id} class="why">
          {why}
        </small>
      )}
      {key !== undefined && <Dialog key={key} idempotencyKey={key} close={closed(key)} {...props} />}
    </>
  );
}

interface DialogProps extends ActProps {
  readonly idempotencyKey: string;
  readonly close: () => void;
}

/** Returns functions that send an action, one request at a time. */
function useSending({ idempotencyKey, close, ...act }: DialogProps) {
  const { method = 'POST', path, tenant, fields, fixed = {}, shows, done } = act;
  const api = useApiOf(tenant);
  const [preview, setPreview] = useState<DryRun>();
  const [ended, setEnded] = useState<readonly [answer: unknown, shown: ComponentChildren]>();
  const [failed, setFailed] = useState<Failed>();
  const [waits, setWaits] = useState(false);
  // The second click of a double click still sees the state rendered before the first click.
  const isBusy = useRef(false);
  const send = async (values: Values, isDry = false): Promise<void> => {
    if (isBusy.current) return;
    isBusy.current = true;
    setWaits(true);
    setFailed(undefined);
    try {
      refuseWrongAmounts(fields, values);
      const body = { ...fixed, ...bodyOf(fields, values), ...(isDry ? { dry_run: true } : {}) };
      const answer = await api.send(method, path, body, idempotencyKey);
      if (isDry) {
        setPreview(answer as DryRun);
      } else if (shows !== undefined) {
        setEnded([answer, shows(answer)]);
      } else {
        close();
        done(answer);
      }
    } catch (error) {
      setFailed({ error, isDry });
    } finally {
      isBusy.current = false;
      setWaits(false);
    }
  };
  return { send, isBusy, waits, failed, ended, preview, forget: () => setPreview(undefined) };
}

function Dialog(props: DialogProps) {
  const { name, does, fields, preview, details, done, refused, close } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [values, setValues] = useState<Values>({});
  const sending = useSending(props);
  const open = (element: HTMLDialogElement | null) => {
    if (element !== null && dialog.current === null) element.showModal();
    dialog.current = element;
  };
  if (sending.ended !== undefined) {
    const [answer, text] = sending.ended;
    return <Ended name={name} open={open} shown={text} close={() => (close(), done(answer))} />;
  }
  const leave = () => {
    close();
    if (sending.failed?.error instanceof Refused) refused?.();
  };
  // A sent request cannot be canceled, so the dialog stays open until the response arrives.
  const stay = (event: Event) => sending.isBusy.current && event.preventDefault();
  return (
    <dialog ref={open} aria-label={name} onClose={leave} onCancel={stay}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void sending.send(values);
        }}
      >
        <h2>{name}</h2>
        <p>{does}</p>
        {details}
        {fields.map((field) => (
          <Asked
            key={field.name}
            field={field}
            value={values[field.name] ?? ''}
            change={(value) => {
              setValues({ ...values, [field.name]: value });
              sending.forget();
            }}
          />
        ))}
        {sending.preview !== undefined && <Previewed run={sending.preview} />}
        {sending.failed !== undefined && <WhatFailed name={name} of={sending.failed} />}
        <p role="status">{sending.waits && 'Waiting for the answer …'}</p>
        <Choices
          name={name}
          preview={preview === true ? () => void sending.send(values, true) : undefined}
          close={leave}
          waits={sending.waits}
        />
      </form>
    </dialog>
  );
}

interface Failed {
  readonly error: unknown;
  /** True while the dialog shows a preview, which has no effect. */
  readonly isDry: boolean;
}

function WhatFailed({ name, of: { error, isDry } }: { readonly name: string; readonly of: Failed }) {
  const isRefused = error instanceof Unsent || (error instanceof Refused && error.status < 500);
  return (
    <>
      <Trouble error={error} />
      {!isRefused && !isDry && (
        <p>The act may have taken effect. Press {name} again: it is the same request, and takes effect once.</p>
      )}
    </>
  );
}

function Choices({
  name,
  preview,
  close,
  waits,
}: {
  readonly name: string;
  readonly preview: (() => void) | undefined;
  readonly close: () => void;
  readonly waits: boolean;
}) {
  return (
    <p class="choices">
      {preview !== undefined && (
        <button type="button" disabled={waits} onClick={preview}>
          Preview
        </button>
      )}
      <button type="submit" class="main" aria-disabled={waits}>
        {name}
      </button>
      <button type="button" disabled={waits} onClick={close}>
        Cancel
      </button>
    </p>
  );
}

type DryRun = Schemas['DryRun'];

/** Shows the postings that the action would add, and the changes of the payment's balances. */
function Previewed({
  run: { payment_status: status, needs_approval: waits, postings, balances },
}: {
  readonly run: DryRun;
}) {
  return (
    <section aria-label="Preview">
      <p>
        Nothing was written. The status would be <b>{status}</b>
        {waits ? ', after a second person has approved it.' : '.'}
      </p>
      <Table
        label="Postings that would be made"
        rows={postings}
        none="Nothing would be posted."
        columns={[
          { title: 'Account', of: ({ account }) => account },
          {
            title: 'Debit',
            isNumber: true,
            of: (row) => (row.direction === 'debit' ? money(row.amount, row.currency) : ''),
          },
          {
            title: 'Credit',
            isNumber: true,
            of: (row) => (row.direction === 'credit' ? money(row.amount, row.currency) : ''),
          },
        ]}
      />
      <Table
        label="Balances of the payment"
        rows={balances}
        none=""
        columns={[
          { title: 'Balance', of: ({ account }) => account },
          { title: 'Now', isNumber: true, of: ({ before, currency }) => money(before, currency) },
          { title: 'Then', isNumber: true, of: ({ after, currency }) => money(after, currency) },
        ]}
      />
    </section>
  );
}

/**
 * Shows content that only the response to an action contains. The second click of a double click does not close the
 * dialog.
 */
function Ended({
  name,
  open,
  shown,
  close,
}: {
  readonly name: string;
  readonly open: (element: HTMLDialogElement | null) => void;
  readonly shown: ComponentChildren;
  readonly close: () => void;
}) {
  return (
    <dialog ref={open} aria-label={name} onClose={close}>
      <h2>{name}</h2>
      {shown}
      <button type="button" class="main" onClick={({ detail }) => detail < 2 && close()}>
        Close
      </button>
    </dialog>
  );
}

/**
 * Checks amounts before sending.
 * @throws Unsent when an amount is not valid in its currency
 */
function refuseWrongAmounts(fields: readonly Field[], values: Values): void {
  for (const { name, label, currency } of fields) {
    const given = (values[name] ?? '').trim();
    if (currency === undefined || given === '' || parseAmount(given, currency) !== undefined) continue;
    throw new Unsent(amountWanted(label, currency));
  }
}

/** Returns the request body, with the fields that were filled in. */
function bodyOf(fields: readonly Field[], values: Values): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields.flatMap<[string, unknown]>(({ name, isWhole, isDay, isList, isFlag, currency }) => {
      const given = (values[name] ?? '').trim();
      if (given === '') return [];
      if (isList === true) return [[name, given.split(/\s+/)]];
      if (isDay === true) return [[name, Date.parse(given) / 1000]];
      if (isFlag === true) return [[name, true]];
      if (currency !== undefined) return [[name, parseAmount(given, currency)]];
      // Invalid values are sent as text; the API then reports the error.
      return [[name, isWhole === true && /^\d+$/.test(given) ? Number(given) : given]];
    }),
  );
}

function Asked({
  field: { name, label, choices, isOptional, isWhole, isDay, isDate, currency },
  value,
  change,
}: {
  readonly field: Field;
  readonly value: string;
  readonly change: (value: string) => void;
}) {
  const given = { name, value, required: isOptional !== true };
  return (
    <label>
      {label}
      {choices === undefined ? (
        <input
          {...given}
          {...(isDay === true || isDate === true ? { type: 'date' as const } : {})}
          inputMode={isWhole === true ? 'numeric' : currency === undefined ? 'text' : 'decimal'}
          onInput={({ currentTarget }) => change(currentTarget.value)}
        />
      ) : (
        <select {...given} onChange={({ currentTarget }) => change(currentTarget.value)}>
          {[['', ''], ...choices.map((choice) => (typeof choice === 'string' ? [choice, choice] : choice))].map(
            ([sent, shown]) => (
              <option key={sent} value={sent}>
                {shown}
              </option>
            ),
          )}
        </select>
      )}
    </label>
  );
}
