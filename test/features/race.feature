Feature: Two workers get the same payment at the same moment
  The first way in which everybody builds this is: look whether the payment was made; if not, make it; then write that it
  was made. Between the look and the writing another worker can look, too.

  Scenario: Looking first and paying then charges the payer twice
    Given a worker that looks first and pays then
    When two of these workers get the same payment, and both look before either pays
    Then the payer was charged 2 times
    And the ledger has 2 entries for the payment

  Scenario: Payonce in the same race charges the payer once
    Given a worker that runs Payonce
    When two of these workers get the same payment, and both look before either pays
    Then the payer was charged 1 time
    And the ledger has 1 entry for the payment
    And the worker that lost is told that the payment is in progress
