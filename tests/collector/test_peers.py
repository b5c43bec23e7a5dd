"""The same store in PostgreSQL, two collectors over it, and messages from a broker."""

import struct
import threading
import time
from dataclasses import replace

import numpy as np
import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from collector import test_counting, test_parts
from collector.fleet import DEFAULT, NOON, OPERATOR, add_devices, arrivals, call, message, new_store, rows_of, running
from collector.peers import Mosquitto, Postgres, stopping
from qckm.collector import schema, senders, sums, upkeep
from qckm.collector.counting import count_messages, withdraw
from qckm.collector.database import Database
from qckm.collector.mqtt import Broker
from qckm.collector.refusals import Unavailable
from qckm.collector.schema import TABLES
from qckm.collector.settings import DAY
from qckm.collector.windows import Asked
from qckm.sketch import files

pytestmark = pytest.mark.peer


@pytest.fixture(scope="module")
def postgres():
    with stopping(Postgres()) as peer:
        yield peer


@pytest.fixture(scope="module")
def mosquitto():
    with stopping(Mosquitto()) as peer:
        yield peer


@pytest.fixture
def store(postgres):
    db = Database(postgres.url)
    with db.writing():
        for table in TABLES:
            db.execute(f"DROP TABLE IF EXISTS {table}")
    db.close()
    return postgres.url


@pytest.fixture
def db(store):
    db = new_store(store)
    yield db
    db.close()


SHARED = [
    test_counting.test_messages_in_any_order_and_number_give_the_sketch_of_their_rows,
    test_counting.test_nothing_is_counted_if_the_transaction_fails,
    test_counting.test_a_number_used_twice_an_old_number_and_an_old_boot_are_refused,
    test_counting.test_a_clock_is_believed_within_reason,
    test_counting.test_memory_stays_bounded,
    test_parts.test_a_part_counts_once_and_the_sum_is_that_of_all_rows,
    test_parts.test_other_content_under_a_name_is_refused_unless_it_replaces,
    test_parts.test_a_withdrawn_part_leaves_nothing_and_stays_withdrawn,
    test_parts.test_hours_become_days_and_sums_stay,
    test_parts.test_parts_of_closed_windows_count_but_cannot_be_taken_out,
    test_parts.test_windows_of_very_long_ago_are_forgotten_where_that_is_wanted_and_names_are_not,
    test_parts.test_a_clock_that_was_wrong_for_a_while_stops_no_periodic_work,
    test_parts.test_a_clock_that_leaps_ages_nothing_until_it_has_gone_on_for_a_day,
]


@pytest.mark.parametrize("test", SHARED, ids=lambda test: test.__name__)
def test_postgresql_does_what_sqlite_does(db, test):
    test(db)


def prepared(store, n_devices):
    db = new_store(store)
    devices = add_devices(db, *(f"hall-{i % 3}/press-{i}" for i in range(n_devices)))
    token = senders.create_token(db, "all", senders.RIGHTS, ["*"], 0)
    db.close()
    return devices, token


def test_two_collectors_over_one_postgresql_count_everything_once(store):
    devices, token = prepared(store, 30)
    sent, rows = [], []
    for device in devices:
        for sequence in range(20):
            rows.append(rows_of(100 * device.number + sequence, 5))
            sent.append(message(device, sequence, rows[-1]))
    shops = [(f"shop-{i}/2025-11-16", OPERATOR.sketch(rows_of(9000 + i))) for i in range(10)]

    def work(urls, seed):
        rng = np.random.default_rng(seed)
        for at in np.array_split(rng.permutation(len(sent)), 20):  # each worker sends everything
            batch = b"".join(sent[i] for i in at)
            while call("POST", f"{urls[int(rng.integers(2))]}/v1/messages", token, batch)[0] != 200:
                pass
        for i in rng.permutation(len(shops)):
            target = f"{urls[int(rng.integers(2))]}/v1/parts/{shops[i][0]}"
            while call("PUT", target, token, files.dumps(shops[i][1]))[0] not in (200, 201):
                pass

    with running(store) as one, running(store) as other:
        threads = [threading.Thread(target=work, args=((one, other), seed)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = files.loads(call("GET", f"{one}/v1/sketch", token)[1])
    expected = sum(sketch for _, sketch in shops) + OPERATOR.pool(OPERATOR.encode(np.concatenate(rows)))
    assert files.dumps(found) == files.dumps(expected)
    db = Database(store)
    assert list(upkeep.check(db)) == []
    db.close()


@pytest.mark.parametrize("work", ["roll_up", "withdraw"])
def test_what_another_collector_writes_meanwhile_is_not_swept_away(store, work, monkeypatch):
    """Of READ COMMITTED, each statement sees what is committed by then: what was read need not be what is removed."""
    with new_store(store) as db, Database(store) as other, Database(store) as third:
        devices = add_devices(db, "berlin")
        late = [arrivals(message(devices[0], i, rows_of(i)), devices, now=NOON + i * 3600) for i in range(2)]
        with db.writing():
            count_messages(db, late[0], DEFAULT, NOON)
        test_parts.put(db, "berlin/2026-11-16T11", OPERATOR.sketch(rows_of(4)))

        def count():
            with other.writing():
                count_messages(other, late[1], DEFAULT, NOON)

        def put():
            test_parts.put(third, "berlin/2026-11-16T10", OPERATOR.sketch(rows_of(5)))

        meanwhile = {"device_sums": threading.Thread(target=count), "part_sums": threading.Thread(target=put)}
        execute = Database.execute

        def interrupted(self, sql, values=()):
            """Between what was read and what is removed, others write, if they may."""
            for table, thread in meanwhile.items():
                if self is db and sql.startswith(f"DELETE FROM {table}") and thread.ident is None:
                    thread.start()
                    thread.join(1)
            return execute(self, sql, values)

        monkeypatch.setattr(Database, "execute", interrupted)
        if work == "roll_up":
            upkeep.roll_up(db, OPERATOR, DEFAULT, NOON + 20 * DAY)
        else:
            with db.writing():
                withdrawn = withdraw(db, Asked(group="berlin"), None, "admin", NOON).rows
        for thread in meanwhile.values():
            thread.join(30) if thread.ident else thread.run()
        assert list(upkeep.check(db)) == []
        with db.reading():
            kept = sums.sketch_of(db, OPERATOR, Asked()).count
    assert kept == (400 if work == "roll_up" else 400 - withdrawn)


def test_a_store_moves_from_sqlite_to_postgresql_and_back(store, tmp_path):
    devices, token = prepared(tmp_path / "small", 3)
    with running(tmp_path / "small") as url:
        call("POST", f"{url}/v1/messages", token, message(devices[0], 0, rows_of(0)))
        call("PUT", f"{url}/v1/parts/berlin/a", token, files.dumps(OPERATOR.sketch(rows_of(1))))
    source, target = Database(str(tmp_path / "small")), Database(store)
    schema.copy_store(source, target)
    schema.back_up(target, str(tmp_path / "back.sqlite"))
    for place in (store, tmp_path / "back.sqlite"):
        with running(place) as url:
            found = files.loads(call("GET", f"{url}/v1/sketch", token)[1])
            assert found == OPERATOR.sketch(rows_of(0)) + OPERATOR.sketch(rows_of(1))
            again = call("POST", f"{url}/v1/messages", token, message(devices[0], 0, rows_of(0)))[1]
            assert (again["accepted"], again["repeated"]) == (0, 1)
    source.close()
    target.close()


class Listener:
    """A device's side of the broker: publishes, and hears what became of it."""

    def __init__(self, mosquitto, device, topic="fleet"):
        self.heard = {}
        self.client = paho.Client(CallbackAPIVersion.VERSION2)
        self.client.on_message = self._on_message
        self.client.connect("127.0.0.1", mosquitto.port)
        self.client.subscribe(f"{topic}/acks/{device}", qos=1)
        self.client.loop_start()

    def _on_message(self, client, data, message):
        for boot, sequence, refused in struct.iter_unpack("<IIB", message.payload):
            self.heard[boot, sequence] = refused

    def wait(self, count):
        until = time.monotonic() + 20
        while len(self.heard) < count:
            assert time.monotonic() < until, self.heard
            time.sleep(0.02)

    def close(self):
        self.client.disconnect()
        self.client.loop_stop()


def test_messages_of_a_broker_are_acknowledged_when_they_are_counted(mosquitto, tmp_path):
    devices, token = prepared(tmp_path, 2)
    broker = Broker.parse(mosquitto.url)
    with running(tmp_path, DEFAULT, broker=broker) as url:
        listener = Listener(mosquitto, devices[0].number)
        time.sleep(0.5)
        for sequence in range(50):
            listener.client.publish("fleet/messages", message(devices[0], sequence, rows_of(sequence)), qos=1)
        listener.client.publish("fleet/messages", message(devices[0], 3, rows_of(99)), qos=1)  # a number used twice
        listener.client.publish("fleet/messages", b"noise", qos=1)
        listener.wait(50)
        found = files.loads(call("GET", f"{url}/v1/sketch", token)[1])
    # It is down; the broker keeps what comes.
    for sequence in range(50, 60):
        listener.client.publish("fleet/messages", message(devices[0], sequence, rows_of(sequence)), qos=1)
    time.sleep(0.3)
    rows = np.concatenate([rows_of(sequence) for sequence in range(50)])
    assert found == OPERATOR.pool(OPERATOR.encode(rows))
    listener.close()


def test_what_came_while_no_collector_was_there_is_counted_later(mosquitto, tmp_path, monkeypatch):
    devices, token = prepared(tmp_path, 1)
    broker = Broker.parse(mosquitto.url.replace("fleet", "later"))
    monkeypatch.setattr("collector.fleet.free_port", lambda port=19321: port)  # the broker knows it by its port
    with running(tmp_path, DEFAULT, broker=broker):
        time.sleep(0.5)
    client = paho.Client(CallbackAPIVersion.VERSION2)
    client.connect("127.0.0.1", mosquitto.port)
    client.loop_start()
    for sequence in range(10):
        client.publish("later/messages", message(devices[0], sequence, rows_of(sequence)), qos=1).wait_for_publish(10)
    client.disconnect()
    client.loop_stop()
    with running(tmp_path, DEFAULT, broker=broker) as url:
        until = time.monotonic() + 20
        while files.loads(call("GET", f"{url}/v1/sketch", token)[1]).count < 1000:
            assert time.monotonic() < until
            time.sleep(0.1)


def test_what_a_stranger_sends_while_the_store_is_away_holds_nobody_up(mosquitto, tmp_path, monkeypatch):
    devices, token = prepared(tmp_path, 1)
    broker = Broker.parse(mosquitto.url.replace("fleet", "strangers"))
    looks = []

    async def look_again(service):
        looks.append(None)
        if len(looks) == 1:
            raise Unavailable("away")
        return False

    monkeypatch.setattr("qckm.collector.service.Service.look_again", look_again)
    with running(tmp_path, DEFAULT, broker=broker) as url:
        time.sleep(0.5)
        client = paho.Client(CallbackAPIVersion.VERSION2)
        client.connect("127.0.0.1", mosquitto.port)
        client.loop_start()
        stranger = replace(devices[0], number=4000)
        sent = message(stranger, 0, rows_of(0)) + message(devices[0], 0, rows_of(1))
        client.publish("strangers/messages", sent, qos=1).wait_for_publish(10)
        client.disconnect()
        client.loop_stop()
        until = time.monotonic() + 20
        while files.loads(call("GET", f"{url}/v1/sketch", token)[1]).count < 100:
            assert time.monotonic() < until
            time.sleep(0.1)
    assert len(looks) == 2


def test_a_flood_of_strangers_does_not_hold_up_the_others(mosquitto, tmp_path):
    """Whether a stranger is known by now is asked of the store ten times a second at most: not for each message."""
    devices, _ = prepared(tmp_path, 1)
    with running(tmp_path, DEFAULT, broker=Broker.parse(mosquitto.url.replace("fleet", "flood"))):
        listener = Listener(mosquitto, devices[0].number, "flood")
        time.sleep(0.5)
        stranger = replace(devices[0], number=4000)
        for sequence in range(500):
            listener.client.publish("flood/messages", message(stranger, sequence, rows_of(0)[:1]), qos=1)
        listener.client.publish("flood/messages", message(devices[0], 0, rows_of(0)), qos=1)
        listener.wait(1)  # within 20 seconds
        listener.close()
