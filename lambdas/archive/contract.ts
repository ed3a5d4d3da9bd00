/** How long one execution of the archiver waits for an archive that is away, before Lambda delivers the batch again. Seconds. */
export const ARCHIVER_WAITS_SECONDS = 540;

/** How long one execution of the auditor begins further work. The next hour goes on. Seconds. */
export const AUDITOR_WORKS_SECONDS = 720;
