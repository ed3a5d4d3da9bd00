import type { ActivityDraft } from '../../activity/domain/activity.ts';
import type { ViewOwner } from '../../views/domain/lists.ts';
import type { Cell } from '../domain/csv.ts';
import type { DataExport, ExportKey, ExportKind, FilePart } from '../domain/data-export.ts';

/** Maximum number of unfinished exports of one tenant and mode. */
export const MAX_OPEN_EXPORTS = 5;

export type MadeExport =
  | { readonly kind: 'written' }
  | { readonly kind: 'exists'; readonly found: DataExport }
  | { readonly kind: 'too_many' };

export interface ExportStore {
  /**
   * The row of the export is the record of its request, and is permanent. @param activity the log entry to write with
   * it
   */
  make(asked: DataExport, activity: ActivityDraft): Promise<MadeExport>;
  /** A consistent read. */
  read(key: ExportKey): Promise<DataExport | undefined>;
  /** Newest first. @param after the id of an export @returns undefined when there is no such export */
  list(owner: ViewOwner, limit: number, after?: string): Promise<readonly DataExport[] | undefined>;
  /** The unfinished exports of all tenants, eventually consistent. */
  open(): Promise<readonly ExportKey[]>;
  /** Writes the next revision. @returns false when another one has that revision */
  save(now: DataExport): Promise<boolean>;
  /** Like {@link ExportStore.save}, and makes room for another export. */
  end(now: DataExport): Promise<boolean>;
}

/** Files that are made of parts. A file appears when its upload ends. */
export interface ExportFiles {
  begin(file: string): Promise<string>;
  /** A part with the same number replaces the earlier one. All but the last have 5 MiB or more. */
  part(file: string, uploadId: string, number: number, text: string): Promise<FilePart>;
  /** @returns false when there is no such upload */
  end(file: string, uploadId: string, parts: readonly FilePart[]): Promise<boolean>;
  exists(file: string): Promise<boolean>;
  /** Writes a text to a file of its own, for {@link ExportFiles.kept}. */
  keep(file: string, text: string): Promise<void>;
  /** @returns undefined when there is no such file */
  kept(file: string): Promise<string | undefined>;
  /** Removes the parts of an abandoned upload. */
  abort(file: string, uploadId: string): Promise<void>;
}

export interface ExportPage {
  readonly rows: readonly (readonly Cell[])[];
  /** The place after these rows. Absent on the last page. */
  readonly next?: string;
}

export interface ExportRows {
  readonly columns: readonly string[];
  /** A page of rows after a place, in a stable order. */
  page(asked: DataExport, after: string | undefined): Promise<ExportPage>;
}

export type AllExportRows = Readonly<Record<ExportKind, ExportRows>>;

/** Starts a writer without waiting for it. */
export type StartWriter = (key: ExportKey) => Promise<void>;
