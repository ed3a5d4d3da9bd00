import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { may, Refused, type Role, type Schemas } from './api.ts';
import { type Attempt, forgetAttempt, keepAttempt, keptAttempt, type Values } from './attempts.ts';
import { useNotify } from './notice.tsx';
import { Trouble } from './parts.tsx';
import { useApi, useApiOf, useRefresh } from './reading.ts';
import { amountWanted, type DayOfRange, dayToSend, enteredAmount, money, words } from './show.ts';
import { Table } from './table.tsx';

type Choice = string | readonly [value: string, shown: string];

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly choices?: readonly Choice[];
  readonly isOptional?: true;
  readonly isWhole?: true;
  /** The currency of an amount. The amount is entered with decimals and sent in minor units. */
  readonly currency?: string;
  /** Set for a boolean field: any entered value is sent as `true`, and an empty value is not sent. */
  readonly isFlag?: true;
  /** Set for a day in UTC, which is sent as Unix seconds. */
  readonly day?: DayOfRange;
  /** Set for a day that is sent as text, for example `2026-03-01`. */
  readonly isDate?: true;
  /** The field's value contains the checked words, separated by spaces; a list is sent. */
  readonly options?: readonly string[];
  /** Set for a field without an input: the content of `ask` sets its value. */
  readonly isHidden?: true;
}

export interface Form {
  readonly values: Values;
  readonly change: (values: Values) => void;
}

interface ActProps {
  readonly name: string;
  readonly does: string;
  readonly role: Role;
  readonly because?: string | undefined;
  /** Whether the address of the screen names this action. The button is then scrolled into view and focused. */
  readonly isLinked?: boolean | undefined;
  readonly method?: 'POST' | 'PATCH';
  readonly path: string;
  /** The tenant and mode, for example `ten_desk/live`. Absent for a route that only operators call. */
  readonly tenant?: string;
  readonly fields: readonly Field[];
  readonly initial?: Values;
  /** A preview is shown before the action can be confirmed. */
  readonly preview?: true;
  readonly ask?: (form: Form) => ComponentChildren;
  readonly effect?: (values: Values) => ComponentChildren;
  /** @default the status that the payment would have */
  readonly would?: (run: DryRun, values: Values) => ComponentChildren;
  /** Called when fields change. Returns the values to set in other fields. */
  readonly adapt?: (changed: Values, values: Values) => Values;
  readonly fixed?: Body;
  /** @default each value is sent under the name of its form field */
  readonly compose?: (entered: Body) => Body;
  /** The dialog shows the content until the operator closes it. */
  readonly shows?: (answer: unknown) => ComponentChildren;
  readonly says?: (answer: unknown) => string;
  /**
   * Called with the response after the action; if `shows` is set, only when the operator closes the dialog. The data of
   * the screen is reloaded in any case.
   */
  readonly done?: (answer: unknown) => void;
}

type Body = Readonly<Record<string, unknown>>;

class Unsent extends Error {}

/**
 * The idempotency key is generated when the dialog opens, so a double click, or a retry after a lost response, causes
 * only one action. Until the outcome of a request is known, the dialog opens only with this request.
 */
export function Act(props: ActProps) {
  const { self } = useApi();
  const { name, method, path, tenant, fixed } = props;
  const act = JSON.stringify([self.operator, name, method, path, tenant, fixed]);
  // A new target changes the component's key, which closes the dialog: a dialog must act only on the object it shows.
  return <ActOnTarget key={act} act={act} {...props} />;
}

interface ActOnTargetProps extends ActProps {
  readonly act: string;
}

function ActOnTarget(props: ActOnTargetProps) {
  const { act, name, role, because, isLinked, initial = {} } = props;
  const { self } = useApi();
  // Dialogs are numbered, because the dialog of a repeated request has the same idempotency key as the earlier dialog.
  const [opened, setOpened] = useState<{ readonly attempt: Attempt; readonly number: number }>();
  // The browser may report the closing of a dialog only after the next dialog was opened.
  const close = (own: number) => setOpened((now) => (now?.number === own ? undefined : now));
  const open = () => {
    const attempt = keptAttempt(act) ?? { key: crypto.randomUUID(), values: initial };
    setOpened((now) => ({ attempt, number: (now?.number ?? 0) + 1 }));
  };
  const why = may(self, role) ? because : `Your role is ${self.role}; this action requires the role ${role}.`;
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isLinked !== true) return undefined;
    // A new screen takes the focus in its own effect, which runs after this one, but before the timer.
    const timer = setTimeout(() => {
      button.current?.scrollIntoView({ block: 'center' });
      button.current?.focus({ preventScroll: true });
    });
    return () => clearTimeout(timer);
  }, [isLinked]);
  return (
    // The reason stays next to its button when the line wraps.
    <span class="act">
      <button
        ref={button}
        type="button"
        disabled={why !== undefined}
        aria-describedby={why === undefined ? undefined : id}
        onClick={open}
      >
        {name}
      </button>
      {why !== undefined && (
        <small id={id} class="why">
          {why}
        </small>
      )}
      {opened !== undefined && (
        <Dialog key={opened.number} attempt={opened.attempt} close={() => close(opened.number)} {...props} />
      )}
    </span>
  );
}

interface DialogProps extends ActOnTargetProps {
  readonly attempt: Attempt;
  readonly close: () => void;
}

/** @param show called with the values of the request, when only this request may be sent again */
function useSending(
  {
    attempt: opened,
    act,
    method = 'POST',
    path,
    tenant,
    fields,
    fixed = {},
    compose,
    shows,
    says,
    done,
    close,
  }: DialogProps,
  show: (values: Values) => void,
) {
  const api = useApiOf(tenant);
  const refresh = useRefresh();
  const notify = useNotify();
  const [preview, setPreview] = useState<{ readonly run: DryRun; readonly of: Values }>();
  const [ended, setEnded] = useState<readonly [answer: unknown, shown: ComponentChildren]>();
  const [failed, setFailed] = useState<Failed | undefined>(
    opened.isRepeated === true ? { error: undefined, isUnknown: true } : undefined,
  );
  const attempt = useRef(opened);
  const [waits, setWaits] = useState(false);
  // The second click of a double click still sees the state rendered before the first click.
  const isBusy = useRef(false);
  const send = async (entered: Values, isDry: boolean): Promise<void> => {
    if (isBusy.current) return;
    const { key, isRepeated } = attempt.current;
    const values = isRepeated === true ? attempt.current.values : entered;
    isBusy.current = true;
    setWaits(true);
    setFailed(undefined);
    try {
      refuseWrongValues(fields, values);
      const named = bodyOf(fields, values);
      const body = { ...fixed, ...(compose?.(named) ?? named), ...(isDry ? { dry_run: true } : {}) };
      if (!isDry) keepAttempt(act, { key, values });
      const answer = await api.send(method, path, body, key);
      if (!isDry) forgetAttempt(act, key);
      if (isDry) {
        setPreview({ run: answer as DryRun, of: values });
      } else if (shows !== undefined) {
        setEnded([answer, shows(answer)]);
        refresh();
      } else {
        close();
        refresh();
        if (says !== undefined) notify(says(answer));
        done?.(answer);
      }
    } catch (error) {
      const isUnknown = isOutcomeUnknown(error, isDry, isRepeated === true);
      if (isUnknown) {
        attempt.current = { key, values, isRepeated: true };
        show(values);
      } else {
        forgetAttempt(act, key);
        // The API replays a stored failure for the same key, so the next request gets a new key.
        attempt.current = { key: crypto.randomUUID(), values };
      }
      setFailed({ error, isUnknown });
    } finally {
      isBusy.current = false;
      setWaits(false);
    }
  };
  return { send, isBusy, waits, failed, ended, preview };
}

function Dialog(props: DialogProps) {
  const { name, does, fields, preview, ask, effect, would, adapt, done, close, attempt } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const refresh = useRefresh();
  const [values, setValues] = useState<Values>(attempt.values);
  const sending = useSending(props, setValues);
  const open = (element: HTMLDialogElement | null) => {
    if (element !== null && dialog.current === null) element.showModal();
    dialog.current = element;
  };
  if (sending.ended !== undefined) {
    const [answer, text] = sending.ended;
    return <Ended name={name} open={open} shown={text} close={() => (close(), done?.(answer))} />;
  }
  const { failed } = sending;
  const isUnknown = failed?.isUnknown === true;
  const leave = () => {
    close();
    // After a refusal, the screen may be outdated.
    if (failed !== undefined) refresh();
  };
  // A sent request cannot be canceled, so the dialog stays open until the response arrives.
  const stay = (event: Event) => sending.isBusy.current && event.preventDefault();
  const change = (more: Values) =>
    setValues((before) => {
      const next = { ...before, ...more };
      return { ...next, ...adapt?.(more, next) };
    });
  // Every change of a field creates new values, so a preview of earlier values is no longer shown.
  const previewed = sending.preview?.of === values ? sending.preview.run : undefined;
  const isPreviewed = preview !== true || previewed !== undefined || isUnknown;
  return (
    <dialog ref={open} aria-label={name} onClose={leave} onCancel={stay}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void sending.send(values, !isPreviewed);
        }}
      >
        <h2>{name}</h2>
        <p>{does}</p>
        {/* If the outcome is unknown, only the same request can be sent again, so no field can be changed. */}
        <fieldset class="plain" disabled={isUnknown}>
          {ask?.({ values, change })}
          {fields.map((field) =>
            field.isHidden === true ? undefined : (
              <Asked
                key={field.name}
                field={field}
                value={values[field.name] ?? ''}
                change={(value) => change({ [field.name]: value })}
              />
            ),
          )}
        </fieldset>
        {effect?.(values)}
        {previewed !== undefined && <Previewed run={previewed} would={would?.(previewed, values)} />}
        {failed !== undefined && <WhatFailed name={name} of={failed} />}
        <p role="status">{sending.waits && 'Waiting for the response …'}</p>
        <Choices name={isPreviewed ? name : 'Preview'} close={leave} waits={sending.waits} />
      </form>
    </dialog>
  );
}

interface Failed {
  /** Undefined if an earlier dialog sent the request. */
  readonly error: unknown;
  readonly isUnknown: boolean;
}

/** @param before whether an earlier request with the same key may have taken effect */
function isOutcomeUnknown(error: unknown, isDry: boolean, before: boolean): boolean {
  if (isDry || error instanceof Unsent) return before;
  if (!(error instanceof Refused) || error.status >= 500) return true;
  // The API has already received a request with this key.
  if (error.code.startsWith('idempotency_key_')) return true;
  return before && !isSettled(error);
}

/** Statuses of refusals by the API after it has read the idempotency key. Gateways and proxies do not send them. */
const AFTER_KEY: readonly number[] = [402, 409, 422];

/**
 * Returns whether a refusal also proves that no earlier request with the same key took effect. A refusal by the API
 * proves this if the API had read the key, or if a field is invalid: the earlier request had the same body. A refusal by
 * a firewall, for example, proves nothing.
 */
function isSettled({ status, param }: Refused): boolean {
  return AFTER_KEY.includes(status) || (status === 400 && param !== undefined);
}

function WhatFailed({ name, of: { error, isUnknown } }: { readonly name: string; readonly of: Failed }) {
  return (
    <>
      {error !== undefined && <Trouble error={error} />}
      {isUnknown && (
        <p>The action may have taken effect. Press {name} again: the same request is sent, and takes effect once.</p>
      )}
    </>
  );
}

function Choices({
  name,
  close,
  waits,
}: {
  readonly name: string;
  readonly close: () => void;
  readonly waits: boolean;
}) {
  return (
    <p class="choices">
      <button
        type="submit"
        class="main"
        aria-disabled={waits}
        // The second click of a double click on Preview must not confirm the action.
        onClick={(event) => event.detail > 1 && event.preventDefault()}
      >
        {name}
      </button>
      <button type="button" disabled={waits} onClick={close}>
        Close
      </button>
    </p>
  );
}

export type DryRun = Schemas['DryRun'];

function Previewed({
  run: { payment_status: status, needs_approval: waits, postings, balances },
  would = (
    <>
      The status would become <b>{words(status)}</b>.
    </>
  ),
}: {
  readonly run: DryRun;
  readonly would: ComponentChildren;
}) {
  const shown = useRef<HTMLElement>(null);
  // The focus leaves the button, so that a second Enter does not confirm before the preview is read.
  useEffect(() => shown.current?.focus(), []);
  return (
    <section ref={shown} aria-label="Preview" class="preview" tabIndex={-1}>
      <p>
        Nothing was written. {would}
        {waits && ' This would happen once a second person approves.'}
      </p>
      <Legs postings={postings} />
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

export function Legs({ postings }: { readonly postings: DryRun['postings'] }) {
  return (
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
  );
}

/** The second click of a double click does not close the dialog. */
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

/** @throws Unsent when an amount is not valid in its currency, or no box of a required list is checked */
function refuseWrongValues(fields: readonly Field[], values: Values): void {
  for (const { name, label, currency, options, isOptional } of fields) {
    const given = (values[name] ?? '').trim();
    if (options !== undefined && isOptional !== true && given === '')
      throw new Unsent(`${label}: choose at least one.`);
    if (currency === undefined || given === '' || enteredAmount(given, currency) !== undefined) continue;
    throw new Unsent(amountWanted(label, currency));
  }
}

function bodyOf(fields: readonly Field[], values: Values): Body {
  return Object.fromEntries(
    fields.flatMap<[string, unknown]>(({ name, isWhole, day, options, isFlag, currency }) => {
      const given = (values[name] ?? '').trim();
      if (given === '') return [];
      if (options !== undefined) return [[name, given.split(/\s+/)]];
      if (day !== undefined) return [[name, dayToSend(given, day)]];
      if (isFlag === true) return [[name, true]];
      if (currency !== undefined) return [[name, enteredAmount(given, currency)]];
      // Invalid values are sent as text; the API then reports the error.
      return [[name, isWhole === true && /^\d+$/.test(given) ? Number(given) : given]];
    }),
  );
}

function Checked({
  field: { label, options = [] },
  value,
  change,
}: {
  readonly field: Field;
  readonly value: string;
  readonly change: (value: string) => void;
}) {
  const chosen = value.split(' ');
  return (
    <fieldset class="options">
      <legend>{label}</legend>
      {options.map((each) => (
        <label key={each}>
          <input
            type="checkbox"
            checked={chosen.includes(each)}
            onChange={({ currentTarget: { checked } }) =>
              change(options.filter((other) => (other === each ? checked : chosen.includes(other))).join(' '))
            }
          />
          {each}
        </label>
      ))}
    </fieldset>
  );
}

export function Asked(asked: {
  readonly field: Field;
  readonly value: string;
  readonly change: (value: string) => void;
}) {
  const { field, value, change } = asked;
  const { name, label, choices, options, isOptional, isWhole, day, isDate, currency } = field;
  if (options !== undefined) return <Checked {...asked} />;
  const given = { name, value, required: isOptional !== true };
  return (
    <label>
      {label}
      {isOptional === true && ' (optional)'}
      {choices === undefined ? (
        <input
          {...given}
          {...(day !== undefined || isDate === true ? { type: 'date' as const } : {})}
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
