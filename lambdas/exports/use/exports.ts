import type { ActivityDraft } from '../../activity/domain/activity.ts';
import type { ViewOwner } from '../../views/domain/lists.ts';
import type { Cell } from '../domain/csv.ts';
import type { DataExport, ExportKey, ExportKind, FilePart } from '../domain/data-export.ts';

/** Maximum number of unfinished exports per tenant and mode. */
export const MAX_OPEN_EXPORTS = 5;

export type MadeExport =
  | { readonly kind: 'written' }
  | { readonly kind: 'exists'; readonly found: DataExport }
  | { readonly kind: 'too_many' };

export interface ExportStore {
  /**
   * Creates an export. Its row is also the permanent record of the request.
   * @param activity the log entry to write with the export
   */
  make(asked: DataExport, activity: ActivityDraft): Promise<MadeExport>;
  /** Reads an export with strong consistency. */
  read(key: ExportKey): Promise<DataExport | undefined>;
  /**
   * Lists exports, newest first.
   * @param after the id of the export after which the list begins
   * @returns undefined when no export has the id `after`
   */
  list(owner: ViewOwner, limit: number, after?: string): Promise<readonly DataExport[] | undefined>;
  /** Lists the unfinished exports of all tenants, with strong consistency. */
  open(): Promise<readonly ExportKey[]>;
  /**
   * Writes the next revision.
   * @returns false when another writer has already written that revision
   */
  save(now: DataExport): Promise<boolean>;
  /**
   * Saves the export as finished, like {@link ExportStore.save}, and removes it from the list of unfinished exports.
   */
  end(now: DataExport): Promise<boolean>;
}

/** Stores files that are uploaded in parts. A file becomes visible when its upload is completed. */
export interface ExportFiles {
  begin(file: string): Promise<string>;
  /**
   * Uploads a part. Replaces an earlier part with the same number. All parts except the last must have at least 5 MiB.
   */
  part(file: string, uploadId: string, number: number, text: string): Promise<FilePart>;
  /**
   * Completes an upload.
   * @returns false when the upload does not exist
   */
  end(file: string, uploadId: string, parts: readonly FilePart[]): Promise<boolean>;
  exists(file: string): Promise<boolean>;
  /** Writes a text to a separate file. {@link ExportFiles.kept} reads it. */
  keep(file: string, text: string): Promise<void>;
  /**
   * Reads a text that `keep` wrote.
   * @returns undefined when the file does not exist
   */
  kept(file: string): Promise<string | undefined>;
  /** Removes the parts of an abandoned upload. */
  abort(file: string, uploadId: string): Promise<void>;
}

export interface ExportPage {
  readonly rows: readonly (readonly Cell[])[];
  /** The position after the rows of this page. Absent on the last page. */
  readonly next?: string;
}

export interface ExportRows {
  readonly columns: readonly string[];
  /** Reads a page of rows after a position, in a stable order. */
  page(asked: DataExport, after: string | undefined): Promise<ExportPage>;
}

export type AllExportRows = Readonly<Record<ExportKind, ExportRows>>;

/** Starts a writer without waiting for it. */
export type StartWriter = (key: ExportKey) => Promise<void>;
