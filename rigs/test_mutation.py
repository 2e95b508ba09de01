from rigs.mutation import sampled


def test_a_sample_keeps_its_mutants_where_other_code_comes_goes_and_moves():
    names = [f"tsproxy.wire.frames.x_{function}__mutmut_1" for function in "abcdefghijklmnopqrst"]
    sample = sampled(names, 5, seed=1)
    assert len(sample) == 5
    assert sampled([name for name in names if name in sample or name < names[9]], 5, seed=1) == sample
    moved = [name.replace("wire.frames", "wire.lower.frames") for name in names]
    assert sampled(moved, 5, seed=1) == [name.replace("wire.frames", "wire.lower.frames") for name in sample]
    assert sampled(names, 5, seed=2) != sample
