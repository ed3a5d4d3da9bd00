/** Environment variables that the stacks and the export functions share. */
export const ExportsEnvironment = {
  /** Name of the bucket that contains the exported files. */
  bucket: 'EXPORTS_BUCKET',
  /** Name of the function that writes exports. */
  writer: 'EXPORT_WRITER',
} as const;

/** Prefix of the files' keys in the bucket. */
export const EXPORTS_FOLDER = 'exports/';

/** Number of days after which the bucket removes a file. */
export const FILE_DAYS = 7;

/** Time limit of one execution of the writer, in seconds. */
export const EXPORT_WRITER_TIMEOUT_SECONDS = 300;
/**
 * Time after which the writer begins no further part of the file, and starts the next execution instead, in seconds. It
 * may read for up to another minute to fill the current part.
 */
export const EXPORT_WRITER_BEGINS_SECONDS = 120;
