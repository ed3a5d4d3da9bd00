import type { ActivityDraft } from '../../activity/domain/activity.ts';
import type { ViewOwner } from '../../views/domain/lists.ts';
import type { Cell } from '../domain/csv.ts';
import type { DataExport, ExportKey, ExportKind, FilePart } from '../domain/data-export.ts';

export const MAX_OPEN_EXPORTS = 5;

export type MadeExport =
  | { readonly kind: 'written' }
  | { readonly kind: 'exists'; readonly found: DataExport }
  | { readonly kind: 'too_many' };

export interface ExportStore {
  /** The row is also the permanent record of the request. */
  make(asked: DataExport, activity: ActivityDraft): Promise<MadeExport>;
  /** With strong consistency. */
  read(key: ExportKey): Promise<DataExport | undefined>;
  /**
   * Lists exports, newest first.
   * @returns undefined when no export has the id `after`
   */
  list(owner: ViewOwner, limit: number, after?: string): Promise<readonly DataExport[] | undefined>;
  /** Includes all tenants, with strong consistency. */
  open(): Promise<readonly ExportKey[]>;
  /** @returns false when another writer has already written the next revision */
  save(now: DataExport): Promise<boolean>;
  /** Saves the export like {@link ExportStore.save}, and removes it from the list of unfinished exports. */
  end(now: DataExport): Promise<boolean>;
}

/** A file becomes visible when its upload is completed. */
export interface ExportFiles {
  begin(file: string): Promise<string>;
  /** Replaces an earlier part with the same number. All parts except the last must have at least 5 MiB. */
  part(file: string, uploadId: string, number: number, text: string): Promise<FilePart>;
  /** @returns false when the upload does not exist */
  end(file: string, uploadId: string, parts: readonly FilePart[]): Promise<boolean>;
  exists(file: string): Promise<boolean>;
  /** Writes to a separate file. */
  keep(file: string, text: string): Promise<void>;
  kept(file: string): Promise<string | undefined>;
  abort(file: string, uploadId: string): Promise<void>;
}

export interface ExportPage {
  readonly rows: readonly (readonly Cell[])[];
  /** Absent on the last page. */
  readonly next?: string;
}

export interface ExportRows {
  readonly columns: readonly string[];
  /** Reads in a stable order. */
  page(asked: DataExport, after: string | undefined): Promise<ExportPage>;
}

export type AllExportRows = Readonly<Record<ExportKind, ExportRows>>;

/** Starts a writer without waiting for it. */
export type StartWriter = (key: ExportKey) => Promise<void>;
