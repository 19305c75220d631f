Feature: Carts
  Scenario: passes
    Given work 3
  Scenario: fails
    Given work 4
    Then fail
  Scenario: pending one
    Given work 2
    Then pending
  Scenario: undefined one
    Given work 5
    Then nothing known
  Scenario Outline: outlined
    Given work <n>
    Examples:
      | n |
      | 6 |
      | 7 |
  Scenario: p1
    Given slow 101
  Scenario: p2
    Given slow 102
