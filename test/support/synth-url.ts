/** Where the run's global setup says that templates are to be had. */
export const SYNTH_URL = 'PAYONCE_TEST_SYNTH_URL';
