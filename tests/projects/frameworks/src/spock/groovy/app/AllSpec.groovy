package app

import spock.lang.Ignore
import spock.lang.Specification

class AllSpec extends Specification {
    def setup() { Work.steps(1) }
    def "passes with blanks"() { expect: Work.steps(3) == null }
    def fails() { expect: Work.steps(4) != null }
    @Ignore("off") def off() { expect: Work.steps(99) == null }
    def "parameter #n"() {
        when: Work.steps(n)
        then: n != 2
        where: n << [1, 2]
    }
    def p1() { expect: Work.slow(101) == null }
    def p2() { expect: Work.slow(102) == null }
}
