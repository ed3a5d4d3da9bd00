Feature: A request is processed once
  Every request to pay carries a key of the client's choice. The state of the request is stored in a record under that
  key. A request that is not completed may be tried again; a request that is completed is never processed again.

  Scenario: A new request is processed
    Given a request with a new key
    When the request is made
    Then the client learns that the payment succeeded
    And the record is "Completed"
    And the payer was charged 1 time

  Scenario: A completed request is skipped
    Given a request that was completed
    When the request is made again
    Then the client gets the first answer, marked as a replay
    And the record is "Completed"
    And the payer was charged 1 time

  Scenario: A failed request is retried and becomes completed
    Given a request that failed because the processor was unavailable
    And the record is "Failed"
    And the payer was charged 0 times
    When the request is made again
    Then the client learns that the payment succeeded
    And the record is "Completed"
    And the payer was charged 1 time

  Scenario: Of two attempts at the same moment one wins and the other skips
    Given a request with a new key
    When the request is made two times at the same moment
    Then one of the two learns that the payment succeeded
    And the other of the two learns that the request is in progress
    And the record is "Completed"
    And the payer was charged 1 time
