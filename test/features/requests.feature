Feature: An event that asks for a payment is processed once
  Every transport delivers an event at least once: repeatedly after a lost acknowledgement, late, or concurrently with
  another delivery of it. The state of the event is stored in a record under its id.

  Scenario: A new payment event is processed
    Given an event with a new id
    When the event is delivered
    Then it is acknowledged
    And the record is "Completed"
    And the payer was charged 1 time

  Scenario: An event that was processed before is skipped
    Given an event that was processed, and whose acknowledgement was lost
    When the event is delivered
    Then it is acknowledged
    And it was skipped
    And the record is "Completed"
    And the payer was charged 1 time

  Scenario: An event that failed at first is processed again and becomes completed
    Given an event that failed because the processor was unavailable
    And the record is "Failed"
    And the payer was charged 0 times
    When the event is delivered
    Then it is acknowledged
    And the record is "Completed"
    And the payer was charged 1 time

  Scenario: Of two handlers at the same moment one succeeds and the other skips
    Given an event with a new id
    When the event is delivered to two handlers at the same moment
    Then one of the two processed it
    And the other of the two skipped it
    And the record is "Completed"
    And the payer was charged 1 time
    When the skipped event is redelivered
    Then the payer was charged 1 time

  Scenario: A handler that crashes between claim and charge delays the event only for its lease
    Given an event whose handler crashed between claim and charge
    And the record is "Pending"
    When the event is delivered
    Then it was skipped
    And the payer was charged 0 times
    When the lease of 25 seconds has ended, and the skipped event is redelivered
    Then the record is "Completed"
    And the payer was charged 1 time

  Scenario: A handler that crashes between charge and commit does not charge a second time
    Given an event whose handler crashed between charge and commit
    And the payer was charged 1 time
    When the lease of 25 seconds has ended, and the event is delivered
    Then it is acknowledged
    And the record is "Completed"
    And the payer was charged 1 time

  Scenario: An event that is redelivered after its record has expired is not charged a second time
    Given an event that was processed, and whose record has expired
    When the event is delivered
    Then it is acknowledged
    And the payer was charged 1 time

  Scenario: An event that is redelivered after its record was deleted is not charged a second time
    Given an event that was processed, and whose record was deleted
    When the event is delivered
    Then it is acknowledged
    And the payer was charged 1 time

  Scenario: A poison event does not stop the events after it
    Given an event with a new id
    When a Kafka batch has an unreadable record before it
    Then the batch is acknowledged
    And the unreadable record is parked as "malformed"
    And the record is "Completed"
    And the payer was charged 1 time
