import { type Command, Option } from 'commander';
import { shownAmount } from '../lambdas/kernel/currency.ts';
import {
  type AskApi,
  addAccess,
  addTenant,
  createApiCaller,
  OPERATOR,
  otherAnswer,
  TENANT,
  tenantOf,
} from './operator-api.ts';
import { isoTime, type Session, table } from './session.ts';

/**
 * A command that calls one API operation. Operations under `/v1/admin/` need an operator's key. All others need a
 * tenant's key; with `forTenant`, an operator's key and `--tenant` also work.
 */
export type ApiCommand = {
  readonly does: string;
  /** Example arguments after the command's name. The help shows them, and the tests run them. */
  readonly example: string;
  /** The command's arguments fill the path parameters in order. */
  readonly calls: `${'GET' | 'POST'} /v1/${string}`;
  readonly required?: readonly Flag[];
  readonly options?: readonly Flag[];
  /**
   * True if operators can also call the command, with `--tenant` and `--mode`.
   * @default false
   */
  readonly forTenant?: true;
} & ({ readonly lines: Lines } | { readonly run: (call: ApiCall) => Promise<void> });

type Flag = readonly [flags: string, does: string, read?: (text: string) => unknown, value?: unknown];

export interface ApiCall {
  readonly session: Session;
  readonly command: Command;
  readonly args: readonly (string | undefined)[];
  readonly path: string;
  readonly ask: AskApi;
  /**
   * Calls the operation with the values of the options.
   * @param more additional fields, which replace option values of the same name
   */
  readonly send: (more?: object) => Promise<unknown>;
}

/** @param commands the commands, keyed by the words that follow the group's name */
export function addApiGroup(
  program: Command,
  session: Session,
  name: string,
  does: string,
  commands: Readonly<Record<string, ApiCommand>>,
): void {
  const group = program.command(name).description(does);
  const [caller, ...others] = new Set(Object.values(commands).map(callerOf));
  const isShared = caller !== undefined && others.length === 0;
  if (isShared) addAccess(group, caller);
  for (const [words, each] of Object.entries(commands)) addApiCommand(group, session, words, each, isShared);
}

/** @param isShared whether the parent command already has the options `--url` and `--key` */
export function addApiCommand(
  parent: Command,
  session: Session,
  words: string,
  described: ApiCommand,
  isShared = false,
): void {
  const { does, calls, required = [], options = [], forTenant = false } = described;
  const command = parent.command(words).description(does);
  for (const flag of required) command.addOption(optionOf(flag).makeOptionMandatory());
  for (const flag of options) command.addOption(optionOf(flag));
  const caller = callerOf(described);
  if (!isShared) addAccess(command, caller);
  if (forTenant) addTenant(command, `the tenant; requires the key of ${OPERATOR.ownerName} (${OPERATOR.variable})`);
  command.action(async () => {
    const headers = tenantOf(command);
    const owner = Object.keys(headers).length === 0 ? caller : OPERATOR;
    const call = callOf(calls, session, command, createApiCaller(session, isShared ? parent : command, owner, headers));
    if ('run' in described) {
      await described.run(call);
      return;
    }
    const document = await call.send();
    session.show(document, linesOf(described.lines, document));
  });
}

function callerOf({ calls }: ApiCommand) {
  return calls.includes(' /v1/admin/') ? OPERATOR : TENANT;
}

function optionOf([flags, does, read, value]: Flag): Option {
  const option = new Option(flags, does).default(value);
  return read === undefined ? option : option.argParser(read);
}

function callOf(calls: ApiCommand['calls'], session: Session, command: Command, ask: AskApi): ApiCall {
  const [method, template] = calls.split(' ') as ['GET' | 'POST', string];
  const args = command.processedArgs as readonly (string | undefined)[];
  const places = args.values();
  const path = template.replaceAll(/\{\w+\}/g, () => encodeURIComponent(places.next().value ?? ''));
  const send = (more: object = {}) => {
    const given = Object.entries(command.opts<Record<string, unknown>>()).filter(([name]) => !NOT_SENT.includes(name));
    const fields = { ...Object.fromEntries(given.map(([name, value]) => [fieldOf(name), value] as const)), ...more };
    if (method === 'POST') return ask(method, path, Object.keys(fields).length === 0 ? undefined : fields);
    const query = new URLSearchParams(
      Object.entries(fields).map(([name, value]): [string, string] => [name, String(value)]),
    );
    return ask(method, query.size === 0 ? path : `${path}?${query.toString()}`);
  };
  return { session, command, args, path, ask, send };
}

export const NOT_SENT = ['wait', 'output', 'items', 'url', 'key', 'tenant', 'mode'];
const OTHER_NAMES: Readonly<Record<string, string>> = { most: 'limit', charge: 'charge_id', transition: 'annotates' };

/** @param name the option's name in camel case */
export function fieldOf(name: string): string {
  return OTHER_NAMES[name] ?? name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * Reads a field of an object as text, by its path, for example `processor.charge_id`. In a path, `last` is the last
 * entry of an array. Returns an empty text if the field, or the object that contains the field, is null.
 *
 * @throws CliFailure when the field is absent, or is an object or an array
 */
export type Row = (field: string) => string;
export type Lines = (rows: readonly Row[]) => readonly string[];

/** @throws CliFailure when the response lacks a field that the lines show */
export function linesOf(lines: Lines, document: unknown): readonly string[] {
  const { data = [document] } = (document ?? {}) as { readonly data?: unknown };
  if (!Array.isArray(data)) throw otherAnswer();
  return lines(data.map((row: unknown) => (field: string) => textAt(row, field)));
}

function textAt(row: unknown, field: string): string {
  let value = row;
  for (const name of field.split('.')) {
    if (value === null) return '';
    if (typeof value !== 'object') throw otherAnswer();
    value = Array.isArray(value) && name === 'last' ? (value.at(-1) ?? null) : (value as Record<string, unknown>)[name];
  }
  if (value === null) return '';
  if (value === undefined || typeof value === 'object') throw otherAnswer();
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * @param columns the columns, keyed by heading: each is the path of a field, or a function that returns the cell's text
 */
export function listing(none: string, columns: Readonly<Record<string, string | ((row: Row) => string)>>): Lines {
  const cells = Object.values(columns);
  return (rows) =>
    rows.length === 0
      ? [none]
      : table(
          Object.keys(columns),
          rows.map((row) => cells.map((cell) => (typeof cell === 'string' ? row(cell) : cell(row)))),
        );
}

/** The field contains a Unix time in seconds. */
export const time =
  (field: string, otherwise = '') =>
  (row: Row): string =>
    row(field) === '' ? otherwise : isoTime(Number(row(field)) * 1000);

export const duration =
  (field: string) =>
  (row: Row): string =>
    row(field) === '' ? '' : `${row(field)} s`;

export const money = (row: Row): string => shownAmount(Number(row('amount')), row('currency'));

/** @param reason path of the field with the failure reason */
export const statusWith =
  (reason: string) =>
  (row: Row): string =>
    row(reason) === '' ? row('status') : `${row('status')} (${row(reason)})`;
