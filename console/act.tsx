import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { parseAmount } from '../lambdas/kernel/currency.ts';
import { may, Refused, type Role, type Schemas } from './api.ts';
import { Table, Trouble, useApi, useApiOf } from './parts.tsx';
import { amountWanted, money } from './show.ts';

/** A value that is sent, or such a value with what is shown for it. */
type Choice = string | readonly [value: string, shown: string];

interface Field {
  readonly name: string;
  readonly label: string;
  readonly choices?: readonly Choice[];
  readonly isOptional?: true;
  readonly isWhole?: true;
  /** The currency of an amount, which is written with its decimals. The API gets minor units. */
  readonly currency?: string;
  /** Its only choice is that it is so. */
  readonly isFlag?: true;
  /** A day in UTC, which the API gets as Unix seconds. */
  readonly isDay?: true;
  /** A day, which the API gets as it is written. */
  readonly isDate?: true;
  /** Words with spaces between them. */
  readonly isList?: true;
}

interface ActProps {
  readonly name: string;
  /** What will happen, in a sentence. */
  readonly does: string;
  readonly role: Role;
  /** Why it is not possible now. */
  readonly because?: string | undefined;
  readonly method?: 'PATCH';
  readonly path: string;
  /** Whose route it is, with the mode, if it is one of tenants. */
  readonly tenant?: string;
  readonly fields: readonly Field[];
  /** Whether the API can say before what would be done (`dry_run`). */
  readonly preview?: true;
  /** What a person compares while deciding. */
  readonly beside?: ComponentChildren;
  readonly fixed?: Readonly<Record<string, unknown>>;
  /** What of the answer is shown before the dialog closes. */
  readonly shows?: (answer: unknown) => ComponentChildren;
  /** After the act, with its answer. */
  readonly done: (answer: unknown) => void;
  /** When the dialog closes after a refusal: what the screen shows may be old. */
  readonly refused?: () => void;
}

type Values = Readonly<Record<string, string>>;

/** A field was filled in wrongly, so nothing was sent. */
class Unsent extends Error {}

/**
 * An act of an operator: asked for once, with what it will do. The key is made when the dialog opens, so a double click and a
 * repetition after an unheard answer are one act.
 */
export function Act(props: ActProps) {
  const { name, role, because } = props;
  const { self } = useApi();
  const [key, setKey] = useState<string>();
  // The browser tells late that a dialog was closed: the next one may be open then.
  const closed = (own: string) => () => setKey((now) => (now === own ? undefined : now));
  const why = may(self, role) ? because : `Your role is ${self.role}; this needs ${role}.`;
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

/** Sends an act, one request at a time. */
function useSending({ idempotencyKey, close, ...act }: DialogProps) {
  const { method = 'POST', path, tenant, fields, fixed = {}, shows, done } = act;
  const api = useApiOf(tenant);
  const [preview, setPreview] = useState<DryRun>();
  const [ended, setEnded] = useState<readonly [answer: unknown, shown: ComponentChildren]>();
  const [failed, setFailed] = useState<Failed>();
  const [waits, setWaits] = useState(false);
  // What is rendered is late for the second half of a double click.
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
  const { name, does, fields, preview, beside, done, refused, close } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [values, setValues] = useState<Values>({});
  const sending = useSending(props);
  const open = (element: HTMLDialogElement | null) => {
    if (element !== null && dialog.current === null) element.showModal();
    dialog.current = element;
  };
  if (sending.ended !== undefined) {
    const [answer, told] = sending.ended;
    return <Ended name={name} open={open} shown={told} close={() => (close(), done(answer))} />;
  }
  const leave = () => {
    close();
    if (sending.failed?.error instanceof Refused) refused?.();
  };
  // What was sent cannot be taken back: the dialog stays until its answer is known.
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
        {beside}
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
  /** Of a preview, which has no effect. */
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

/** What would be posted, and how the balances of the payment would change. */
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
        label="What would be posted"
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

/** What only the answer of an act shows. The second half of a double click on the act does not close it. */
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

/** @throws Unsent when an amount is none of its currency */
function refuseWrongAmounts(fields: readonly Field[], values: Values): void {
  for (const { name, label, currency } of fields) {
    const given = (values[name] ?? '').trim();
    if (currency === undefined || given === '' || parseAmount(given, currency) !== undefined) continue;
    throw new Unsent(amountWanted(label, currency));
  }
}

/** The fields that were filled in. */
function bodyOf(fields: readonly Field[], values: Values): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields.flatMap<[string, unknown]>(({ name, isWhole, isDay, isList, isFlag, currency }) => {
      const given = (values[name] ?? '').trim();
      if (given === '') return [];
      if (isList === true) return [[name, given.split(/\s+/)]];
      if (isDay === true) return [[name, Date.parse(given) / 1000]];
      if (isFlag === true) return [[name, true]];
      if (currency !== undefined) return [[name, parseAmount(given, currency)]];
      // The API says what is wrong with another text.
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
