/** `payonce`: the command line. */
import '../cli/main.ts';
