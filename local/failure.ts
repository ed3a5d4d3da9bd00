/** A failure that the user can fix. Its message is one line that says what to do. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure';
}
