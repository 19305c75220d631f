; A program in a dynamic language: persistent maps, a sort with a comparator, and 150 evals, each of
; which runs the Clojure compiler. Nearly every step is a call into clojure.lang. The same at each run.

(defn step [x]
  (mod (+ (* x 1103515245) 12345) 2147483648))

(defn numbers [seed n]
  (take n (iterate step seed)))

(defn build [seed n]
  (reduce (fn [m x] (assoc m x {:key x, :size (mod x 97), :tags (hash-set (mod x 7) (mod x 11))}))
          {} (numbers seed n)))

(defn group [m]
  (reduce (fn [groups [_ v]] (update groups (:size v) (fnil conj []) v)) (sorted-map) m))

(defn order [m]
  (sort (fn [a b] (compare [(:size a) (:key a)] [(:size b) (:key b)])) (vals m)))

(defn drop-half [m]
  (reduce (fn [m k] (if (even? (quot k 3)) (dissoc m k) m)) m (keys m)))

(defn work [seed]
  (let [m (build seed 3000)]
    (+ (count (group m)) (:size (first (order m))) (count (drop-half m)))))

(defn compiled [i]
  (eval `(let [f# (fn [x# & more#] (if (odd? x#) (apply + x# more#) (str x# ~i)))
               table# {:a ~i, :b [1 2 ~i], :c #{:x :y}}]
           (loop [n# 0, sum# 0]
             (if (< n# 3) (recur (inc n#) (+ sum# (f# 1 n# ~i) (:a table#))) sum#)))))

(println (reduce + (map work (range 1 8)))
         (reduce + (map compiled (range 150))))
