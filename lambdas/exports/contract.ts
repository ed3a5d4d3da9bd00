/** Environment variables that the stacks and the functions of exports share. */

export const ExportsEnvironment = {
  /** The bucket that contains the exported files. */
  bucket: 'EXPORTS_BUCKET',
  /** The name of the function that writes exports. */
  writer: 'EXPORT_WRITER',
} as const;

/** The prefix of the files in the bucket. */
export const EXPORTS_FOLDER = 'exports/';

/** Days after which the bucket removes files. */
export const FILE_DAYS = 7;

/** Time limit of one execution of the writer, in seconds. */
export const EXPORT_WRITER_TIMEOUT_SECONDS = 300;
/**
 * Time after which the writer begins no further part of the file and starts the next execution, in seconds. The writer
 * may read for up to another minute to fill the current part.
 */
export const EXPORT_WRITER_BEGINS_SECONDS = 120;
