Feature: Answers to a payment request
  Every request to pay carries a key of the client's choice. The first request with a key gets the real answer, which is
  stored; every repeated request with that key gets the same answer, or an error that states the reason.

  Scenario Outline: A request <key> is refused before anything happens
    When a client asks to pay <key>
    Then it is answered 400 with the code "<code>"
    And no payer was charged

    Examples:
      | key                            | code                    |
      | without a key                  | missing_idempotency_key |
      | with an empty key              | missing_idempotency_key |
      | with a key of two words        | invalid_idempotency_key |
      | with a key that is too long    | invalid_idempotency_key |
      | with two different keys        | invalid_idempotency_key |

  Scenario Outline: The first request with a key gets the real answer when <course>
    Given <course>
    When a client asks to pay
    Then it is answered <status> and the payment is "<state>"
    And the answer is not marked as a replay
    And the payer was charged <charges>

    Examples:
      | course                                      | status | state      | charges |
      | the payer's bank agrees                     | 201    | succeeded  | 1 time  |
      | the payer's bank refuses                    | 402    | failed     | 0 times |
      | the processor does not answer in time       | 202    | processing | 0 times |

  Scenario Outline: The same request again gets the same answer when <course>
    Given <course>
    And a client has asked to pay
    When the client sends the same request again
    Then it gets the first answer, byte for byte, marked as a replay
    And the processor received no further request
    And the payer was charged <charges>

    Examples:
      | course                                      | charges |
      | the payer's bank agrees                     | 1 time  |
      | the payer's bank refuses                    | 0 times |
      | the processor does not answer in time       | 0 times |

  Scenario: The same key in quotes, under a header name in capital letters, is the same key
    Given a client has asked to pay
    When the client sends the same request again with its key in quotes, under a header name in capital letters
    Then it gets the first answer, byte for byte, marked as a replay
    And the payer was charged 1 time

  Scenario: A request whose first copy is still running learns when to retry
    Given a request to pay that is still running
    When the client sends the same request again
    Then it is answered 409 with the code "idempotency_key_in_progress"
    And it learns when to retry
    And the first copy succeeds when it ends
    And the payer was charged 1 time

  Scenario: A client that would rather wait gets the answer of the first copy
    Given a request to pay that is still running
    When the client sends the same request again, and would rather wait for 8 seconds
    Then it gets the first answer, byte for byte, marked as a replay
    And the payer was charged 1 time

  Scenario: A client whose wait ends before the first copy learns when to retry
    Given a request to pay that is still running and does not end soon
    When the client sends the same request again, and would rather wait for 8 seconds
    Then it is answered 409 with the code "idempotency_key_in_progress"
    And it learns when to retry
    And the first copy succeeds when it ends

  Scenario: A key that is reused for another request is refused, and its answer stays
    Given a client has asked to pay
    When the client sends another amount with the same key
    Then it is answered 422 with the code "idempotency_key_payload_mismatch"
    And the first request, sent again, still gets its first answer
    And the payer was charged 1 time

  Scenario: A key that is reused after its answer has expired is refused with the id of the payment
    Given a client has asked to pay
    And 8 days have passed
    When the client sends the same request again
    Then it is answered 409 with the code "idempotency_key_expired"
    And the answer names the first payment
    And the payer was charged 1 time

  Scenario: A reference that belongs to another payment is refused and names that payment
    Given a client has paid for the reference "order-1"
    When a client asks to pay for the reference "order-1" with a new key
    Then it is answered 409 with the code "reference_already_used"
    And the answer names the first payment
    And the payer was charged 1 time in all

  Scenario: A reference is free again after its payment has failed
    Given the payer's bank refuses
    And a client has paid for the reference "order-2"
    When a client asks to pay for the reference "order-2" with a new key
    Then it is answered 201 and the payment is "succeeded"
    And the payer was charged 1 time in all
