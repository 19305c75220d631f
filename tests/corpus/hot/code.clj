(defn locked [lock n]
  (locking lock
    (try (inc n) (finally (str n)))))

(defn nested [a b n]
  (locking a (locking b (locked a n))))

(def state (atom 0))
(def shared (ref 0))
(dotimes [n 20]
  (nested state shared n)
  (swap! state inc)
  (dosync (alter shared + n))
  (deref (delay (reduce + (map inc (range n)))))
  (deref (future (locked state n)))
  (deref (promise) 1 nil)
  (send (agent 0) inc)
  (into (sorted-map) (zipmap (range n) (lazy-seq (range n))))
  (re-find #"a+(b)" "xaab")
  (eval '(fn [x] (locking x x)))
  (with-out-str (pr {:a [n]})))
(println "ran")
(shutdown-agents)
