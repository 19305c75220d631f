import groovy.transform.Synchronized
import groovy.transform.WithReadLock

class Counter {
    int count
    @Lazy volatile List<Integer> numbers = (1..10).toList()

    @Synchronized
    int next() { count += numbers.size() }

    @WithReadLock
    int read() { count }

    int locked() { synchronized (this) { try { next() } finally { count-- } } }
}

def counter = new Counter()
def expando = new Expando(name: 'x')
20.times {
    counter.next()
    counter.locked()
    counter.read()
    expando.name += it
    def map = [a: 1, b: [2, 3]]
    def text = "${map.collect { k, v -> "$k=$v" }.join(',')} ${counter.numbers.findAll { it % 2 }.sum()}"
    assert text =~ /a=1/
    new ConfigSlurper().parse("a { b = $it }")
}
def memoized = { int n -> n * 2 }.memoize()
assert memoized(3) == memoized(3)
println 'ran'
