import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Refused } from './api.ts';
import { Icon } from './icons.tsx';
import type { Read } from './reading.ts';
import { localTime, relativeTime, utcTime, words } from './show.ts';

export function Trouble({ error }: { readonly error: unknown }) {
  const text = error instanceof Error ? error.message : String(error);
  return (
    <p role="alert" class="trouble">
      {text} {error instanceof Refused && <code>{error.code}</code>}
    </p>
  );
}

export function Failed({ error, again }: { readonly error: unknown; readonly again: (() => void) | undefined }) {
  return (
    <>
      <Trouble error={error} />
      {again !== undefined && !(error instanceof Refused && error.status === 400) && (
        <button type="button" onClick={again}>
          Read again
        </button>
      )}
    </>
  );
}

export function Loading() {
  return (
    <p aria-live="polite" class="soft-text">
      Loading …
    </p>
  );
}

export function Loaded<Answer>({
  of: { answer, error, again },
  children,
}: {
  readonly of: Read<Answer>;
  readonly children: (answer: Answer) => ComponentChildren;
}) {
  return (
    <>
      {error !== undefined && <Failed error={error} again={again} />}
      {answer === undefined ? error === undefined && <Loading /> : children(answer)}
    </>
  );
}

export function Empty({ title, hint }: { readonly title: string; readonly hint?: ComponentChildren }) {
  return (
    <div class="empty">
      <p>{title}</p>
      {hint !== undefined && <p class="soft-text">{hint}</p>}
    </div>
  );
}

/** A `<dl class="facts">` must contain the fact. */
export function Fact({ name, value }: { readonly name: string; readonly value: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** The tooltip shows UTC. @param at Unix seconds, or an ISO 8601 time */
export function Time({ at }: { readonly at: number | string | null | undefined }) {
  if (at === null || at === undefined) return <>–</>;
  const seconds = typeof at === 'number' ? at : Date.parse(at) / 1000;
  return (
    <time dateTime={new Date(seconds * 1000).toISOString()} title={utcTime(seconds)}>
      {localTime(seconds)} <small>{relativeTime(seconds)}</small>
    </time>
  );
}

const COPIED_MS = 2_000;

/**
 * Without access to the clipboard, which browsers give only to secure pages, the button selects the element before it,
 * which shows the text.
 */
export function Copy({ text }: { readonly text: string }) {
  const [isCopied, setCopied] = useState(false);
  const copied = () => {
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <button
      type="button"
      class="quiet copy"
      aria-label={isCopied ? 'Copied' : `Copy ${text}`}
      title={isCopied ? 'Copied' : 'Copy'}
      onClick={({ currentTarget }) => {
        const shown = currentTarget.previousElementSibling;
        const select = () => void (shown !== null && getSelection()?.selectAllChildren(shown));
        if (isSecureContext) navigator.clipboard.writeText(text).then(copied, select);
        else select();
      }}
    >
      <Icon name={isCopied ? 'done' : 'copy'} />
    </button>
  );
}

/**
 * The stylesheet shortens a long id; the page contains the whole id, so that a browser finds it, and a screen reader
 * reads it.
 */
export function Id({ of: id, to }: { readonly of: string | null | undefined; readonly to?: string | undefined }) {
  if (id === null || id === undefined) return <>–</>;
  const text = (
    <code class="clipped" title={id}>
      {id}
    </code>
  );
  return (
    <span class="id">
      {to === undefined ? text : <a href={to}>{text}</a>}
      <Copy text={id} />
    </span>
  );
}

function screenOf(id: string): string | undefined {
  if (id.startsWith('pay_')) return `#/payments/${id}`;
  if (id.startsWith('apr_')) return '#/approvals';
  return /^(?:ord|ref|rtn|cap|can)_/.test(id) ? `#/payments?q=${encodeURIComponent(id)}` : undefined;
}

export function About({ id }: { readonly id: string | null }) {
  return <Id of={id} to={id === null ? undefined : screenOf(id)} />;
}

const KINDS: Readonly<Record<string, 'good' | 'bad' | 'open'>> = {
  succeeded: 'good',
  completed: 'good',
  approved: 'good',
  delivered: 'good',
  failed: 'bad',
  canceled: 'bad',
  rejected: 'bad',
  expired: 'bad',
  confirmed: 'bad',
  needs_review: 'open',
  pending_approval: 'open',
  processing: 'open',
  pending: 'open',
  suspected: 'open',
};

/** The text carries the meaning; the color only makes it easier to find. */
export function Status({ of: status }: { readonly of: string }) {
  return <span class={`status ${KINDS[status] ?? ''}`}>{words(status)}</span>;
}
