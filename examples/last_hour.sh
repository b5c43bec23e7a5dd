#!/usr/bin/env bash
# Clusters of the last hour, from cumulative sketches: an "hour" here is two seconds, so that the example ends.
# Needs qckm on the path: `source .venv/bin/activate` after `make test`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# A sensor whose two clusters move from (0, 0) and (6, 6) to (20, 0) and (26, 6) after a while.
readings() {
    awk -v seed="$1" -v shift="$2" -v rows="$3" 'BEGIN {
        srand(seed)
        for (i = 0; i < rows; i++) {
            c = 6 * int(2 * rand())
            x = rand() + rand() + rand() - 1.5; y = rand() + rand() + rand() - 1.5
            printf "%.6f,%.6f\n", c + shift + x, c + y
        }
    }'
}

{ echo x,y; readings 1 0 2000; readings 2 20 2000; } > pilot.csv
qckm operator pilot.csv -k 4 -o fleet.qckm --quiet

# The stream: quiet for a while after each part, as a day is after each hour.
{ echo x,y; readings 3 0 5000; sleep 8; readings 4 20 3000; } |
    qckm sketch - --operator fleet.qckm --every 1s -o 'snapshot-{number}.qckm' --quiet

snapshots=(snapshot-*.qckm)
rows() { qckm info "$1" --json | awk -F'[:,]' '/"rows"/ { print $2 + 0 }'; }
for one in "${snapshots[@]}"; do
    if [ "$(rows "$one")" -le 5000 ]; then before=$one; fi
done
last=${snapshots[-1]}
qckm subtract "$last" "$before" -o last-hour.qckm --quiet
echo "all the day:   $(rows "$last") rows"
echo "the last hour: $(rows last-hour.qckm) rows"
qckm decode last-hour.qckm -k 2 --quiet
