/** The names under which the archive is watched. */
export const AUDITOR_SERVICE = 'archive-auditor';

export type ArchiveMetric =
  /** A manifest lists everything that arrived. */
  | 'archive_listed'
  /** There was traffic, and nothing of it was archived for an hour. */
  | 'archive_stopped'
  /** What a verification found. */
  | 'archive_differs';
