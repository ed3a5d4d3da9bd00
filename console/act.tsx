import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { may, type Role } from './api.ts';
import { Trouble, useApi, useApiOf } from './parts.tsx';

interface Field {
  readonly name: string;
  readonly label: string;
  readonly choices?: readonly string[];
  readonly isOptional?: true;
  readonly isWhole?: true;
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
  readonly done: () => void;
}

type Values = Readonly<Record<string, string>>;

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

function Dialog({ idempotencyKey, close, ...act }: DialogProps) {
  const { name, does, method = 'POST', path, tenant, fields, preview, beside, fixed = {}, shows, done } = act;
  const api = useApiOf(tenant);
  const dialog = useRef<HTMLDialogElement>(null);
  const [values, setValues] = useState<Values>({});
  const [shown, setShown] = useState<unknown>();
  const [ended, setEnded] = useState<ComponentChildren>();
  const [error, setError] = useState<unknown>();
  const isBusy = useRef(false);
  const send = async (more: object): Promise<void> => {
    if (isBusy.current) return;
    isBusy.current = true;
    setError(undefined);
    try {
      const answer = await api.send(method, path, { ...fixed, ...bodyOf(fields, values), ...more }, idempotencyKey);
      if ('dry_run' in more) {
        setShown(answer);
      } else if (shows !== undefined) {
        setEnded(shows(answer));
      } else {
        close();
        done();
      }
    } catch (problem) {
      setError(problem);
    } finally {
      isBusy.current = false;
    }
  };
  const open = (element: HTMLDialogElement | null) => {
    if (element !== null && dialog.current === null) element.showModal();
    dialog.current = element;
  };
  if (ended !== undefined) return <Ended name={name} open={open} shown={ended} close={() => (close(), done())} />;
  return (
    <dialog ref={open} aria-label={name} onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send({});
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
            change={(value) => setValues({ ...values, [field.name]: value })}
          />
        ))}
        {shown !== undefined && <pre>{JSON.stringify(shown, undefined, 2)}</pre>}
        {error !== undefined && <Trouble error={error} />}
        <Choices
          name={name}
          preview={preview === true ? () => void send({ dry_run: true }) : undefined}
          close={close}
        />
      </form>
    </dialog>
  );
}

function Choices({
  name,
  preview,
  close,
}: {
  readonly name: string;
  readonly preview: (() => void) | undefined;
  readonly close: () => void;
}) {
  return (
    <p class="choices">
      {preview !== undefined && (
        <button type="button" onClick={preview}>
          Preview
        </button>
      )}
      <button type="submit" class="main">
        {name}
      </button>
      <button type="button" onClick={close}>
        Cancel
      </button>
    </p>
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

/** The fields that were filled in. */
function bodyOf(fields: readonly Field[], values: Values): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields.flatMap<[string, unknown]>(({ name, isWhole, isDay, isList }) => {
      const given = (values[name] ?? '').trim();
      if (given === '') return [];
      if (isList === true) return [[name, given.split(/\s+/)]];
      if (isDay === true) return [[name, Date.parse(given) / 1000]];
      return [[name, isWhole === true ? Number(given) : given]];
    }),
  );
}

function Asked({
  field: { name, label, choices, isOptional, isWhole, isDay, isDate },
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
          inputMode={isWhole === true ? 'numeric' : 'text'}
          onInput={({ currentTarget }) => change(currentTarget.value)}
        />
      ) : (
        <select {...given} onChange={({ currentTarget }) => change(currentTarget.value)}>
          {['', ...choices].map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      )}
    </label>
  );
}
