Feature: Two workers get the same payment at the same moment
  A common first implementation is: check whether the payment was made; if not, make it; then record that it
  was made. Between the check and the record, another worker can check, too.

  Scenario: Reading first and then paying charges the payer twice
    Given a worker that reads first and then pays
    When two of these workers get the same payment, and both read before either pays
    Then the payer was charged 2 times
    And the ledger has 2 entries for the payment

  Scenario: Payonce in the same race charges the payer once
    Given a worker that runs Payonce
    When two of these workers get the same payment, and both read before either pays
    Then the payer was charged 1 time
    And the ledger has 1 entry for the payment
    And the losing worker learns that the payment is in progress
